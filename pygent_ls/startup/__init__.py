"""What makes the process start fast."""
