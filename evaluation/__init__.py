"""Measures how good the agent is, with Harbor: docs/evaluation.md. Everything here runs in Harbor's own environment."""
