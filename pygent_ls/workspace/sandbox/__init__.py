"""Sandbox for commands: visible and protected paths, and checks after each command."""
