"""Index for listing sessions and searching their conversations. It is built from the journals alone."""
