"""What is known of one tool: its baseline, its incidents, what waits."""
