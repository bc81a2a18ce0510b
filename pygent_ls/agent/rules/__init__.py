"""Permission rules and what they match."""
