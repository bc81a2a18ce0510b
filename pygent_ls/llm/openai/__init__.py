"""Models that speak OpenAI's protocols: chat completions and Responses."""
