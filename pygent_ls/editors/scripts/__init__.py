"""What scripts read and write: `pygent-ls run --output-format json|stream-json`, and its input (docs/scripts.md)."""
