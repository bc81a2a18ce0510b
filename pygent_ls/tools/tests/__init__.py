"""Tools that run a project's tests."""
