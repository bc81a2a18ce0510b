"""What users add: hooks, instructions, commands of their own. Knows no editor and no provider."""
