"""Settings: definitions, sources, and the merging of layers."""
