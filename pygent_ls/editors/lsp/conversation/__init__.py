"""The items of a conversation, reduced from the events of its session. Pure."""
