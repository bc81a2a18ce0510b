"""Input and output of `pygent-ls run --output-format json|stream-json` (docs/scripts.md)."""
