"""Provider failures as ModelError."""
