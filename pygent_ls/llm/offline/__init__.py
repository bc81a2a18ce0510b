"""A model of rules that needs no provider."""
