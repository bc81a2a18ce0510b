"""The real daemon over its standard input and output, fed with whatever may come, and checked after each step.

`machine` holds the steps, `checked_client` the invariants, `schema_values` and `broken_frames` what is sent, and
`documents` a model of open documents that others wrote.
"""
