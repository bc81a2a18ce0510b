"""Files and processes as they are: disk, paths, documents, child processes."""
