"""Handlers of `pygent/*` requests."""
