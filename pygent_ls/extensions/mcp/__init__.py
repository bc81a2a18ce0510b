"""MCP: connections to the servers that the user has configured, and their tools.

Only the modules `client` and `stdio` import the SDK, once a server is configured.
"""
