"""Cache of generated code, which makes the process start fast."""
