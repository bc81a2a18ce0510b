"""Finding sessions by what they are and what was said in them: an index that is made of the journals alone."""
