"""Project templates, rendered by copier in a process of its own."""
