"""Snapshots of the workspace's files, stored outside the workspace."""
