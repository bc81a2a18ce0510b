"""Git repositories and the git program."""
