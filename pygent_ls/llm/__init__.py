"""Models: adapters that turn the core's request into a stream of chunks, and the choice of provider and key."""
