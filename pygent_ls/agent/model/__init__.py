"""Assembly of a model's answer from chunks, and retries."""
