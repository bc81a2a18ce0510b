"""Construction of a session's turns: agent, model, mode, prompt, hooks and subagents."""
