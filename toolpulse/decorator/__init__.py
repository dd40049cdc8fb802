"""The wrappers around watched callables."""
