"""Agents of other programs, through the Agent Client Protocol: pygent-ls as their client."""
