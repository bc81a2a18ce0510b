"""User extensions: hooks, instructions, custom commands. Independent of editors and providers."""
