"""A rule-based model that needs no provider."""
