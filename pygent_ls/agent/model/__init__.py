"""The model's answer, and retries."""
