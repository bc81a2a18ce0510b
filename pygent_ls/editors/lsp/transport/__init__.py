"""Byte streams and frames: standard streams, Unix sockets, recordings."""
