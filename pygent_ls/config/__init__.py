"""Settings: what they are, where they come from, and how layers are merged."""
