"""The language server front end; the only place that knows pygls and lsprotocol."""
