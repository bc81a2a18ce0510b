"""Open documents, and edits of them."""
