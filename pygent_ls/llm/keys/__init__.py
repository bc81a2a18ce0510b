"""Stores of API keys."""
