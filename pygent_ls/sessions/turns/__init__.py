"""What a turn of a session is made of."""
