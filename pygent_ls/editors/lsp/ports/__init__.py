"""The core's ports on an editor."""
