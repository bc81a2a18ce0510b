"""Permission decisions about tool calls: allow, ask or deny."""
