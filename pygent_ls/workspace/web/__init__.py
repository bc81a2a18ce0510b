"""HTTP requests and conversion of web pages."""
