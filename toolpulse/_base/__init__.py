"""What every floor stands on: canonical bytes, paths, files and the guard."""
