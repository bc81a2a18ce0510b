"""Construction of the application from the settings and the packages below."""
