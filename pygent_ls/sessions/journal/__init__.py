"""What is kept of a session on the disk: one append-only file of records, and how a session comes back from it."""
