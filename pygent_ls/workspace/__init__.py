"""Files and processes on the local machine: disk, paths, documents, child processes."""
