"""Index of the symbols of source files, kept by a program of its own."""
