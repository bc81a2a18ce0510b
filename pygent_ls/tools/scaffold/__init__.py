"""Tools that create projects from templates."""
