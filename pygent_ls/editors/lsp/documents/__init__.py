"""Open documents: buffers, positions, and edits that the editor applies."""
