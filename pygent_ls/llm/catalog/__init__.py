"""Catalog of models: limits, prices and capabilities."""
