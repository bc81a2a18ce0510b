"""Commands and code actions for clients without a plugin."""
