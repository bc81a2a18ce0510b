"""Life cycle of the daemon: over standard streams, or over a socket for several clients."""
