"""Language servers as sources of knowledge about code: those that the daemon starts itself, and what all answer."""
