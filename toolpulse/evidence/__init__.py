"""From shapes and counts to evidence per path."""
