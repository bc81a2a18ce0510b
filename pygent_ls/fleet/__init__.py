"""Many tasks over many repositories: one agent per attempt, each in a worktree of its own."""
