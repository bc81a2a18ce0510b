"""Logging and telemetry of turns."""
