"""Providers, their endpoints and keys."""
