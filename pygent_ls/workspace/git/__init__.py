"""Git repositories, and the git program for the daemon's own use."""
