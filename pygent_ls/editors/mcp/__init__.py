"""Front end for other agents: pygent-ls as an MCP server on standard input and output."""
