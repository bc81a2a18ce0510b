"""Pictures for models: checked, and scaled down to what providers accept, in a separate process."""
