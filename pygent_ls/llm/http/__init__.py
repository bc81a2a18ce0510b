"""HTTP requests to providers, shared by the native adapters."""
