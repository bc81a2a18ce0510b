"""The local machine: files, child processes, sandbox, snapshots, git, templates and the web."""
