"""Adapters of the core's ports for an editor: workspace, approver, questioner, progress."""
