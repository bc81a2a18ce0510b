"""The evaluation: Harbor's own runner in real processes, with our agent, scripted models, and bubblewrap for Docker."""
