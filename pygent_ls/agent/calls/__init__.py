"""Execution of tool calls: batches, permission, hooks, tool, edit and result."""
