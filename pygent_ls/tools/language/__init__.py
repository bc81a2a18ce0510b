"""Tools that ask language servers."""
