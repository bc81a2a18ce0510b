"""Sessions on the disk: an append-only file of records for each session, and its replay."""
