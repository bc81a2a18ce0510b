"""MCP: connections to the servers that the user has configured, and their tools.

Only the modules `client` and `stdio` import the SDK, and they are imported in a thread once a server is configured.
"""
