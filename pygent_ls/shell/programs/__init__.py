"""Options of programs that are known to do no more than the program's name says."""
