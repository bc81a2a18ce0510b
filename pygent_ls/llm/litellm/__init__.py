"""Models that are called through litellm."""
