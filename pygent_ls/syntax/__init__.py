"""Source text as syntax trees: its languages, its definitions and its references. Imports nothing of ours."""
