"""States of the workspace's files, kept outside the workspace."""
