"""The core: messages, events, ports, permissions, batches, the loop. No IO, no editor, no provider."""
