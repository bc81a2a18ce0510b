"""Commands in containers and on other machines."""
