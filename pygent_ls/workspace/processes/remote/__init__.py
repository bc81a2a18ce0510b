"""Commands in an existing container or on another machine."""
