"""Analysis of shell command lines and of what their programs do. Imports nothing else of the package."""
