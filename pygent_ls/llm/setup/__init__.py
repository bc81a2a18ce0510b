"""Setup of a first model: available models, the questions about them, and storage of the key."""
