"""From evidence and a new shape to findings for each consumer."""
