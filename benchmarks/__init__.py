"""Measurements. Each module runs by itself, prints a table, and takes ``--quick``: see README.md."""
