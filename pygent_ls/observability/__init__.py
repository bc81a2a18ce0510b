"""What turns do, told to the log and to collectors."""
