"""Models that speak Anthropic's Messages API."""
