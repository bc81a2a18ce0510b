"""The JSON format of a saved session."""
