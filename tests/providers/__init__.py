"""Strict servers of the provider families, and the tests that send real requests to them."""
