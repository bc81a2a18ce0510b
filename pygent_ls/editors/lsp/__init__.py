"""The language server front end; the only package that speaks LSP."""
