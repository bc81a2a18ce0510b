"""Conversion of provider failures to `ModelError`."""
