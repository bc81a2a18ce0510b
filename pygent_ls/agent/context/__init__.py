"""Content of model requests: system prompt, instructions, attachments, memory, and the context window."""
