"""Inline completion: the context of the cursor, when a model is asked, and what is shown of its answer."""
