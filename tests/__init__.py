"""Tests; they mirror the package. Fakes are in fakes.py, a provider over HTTP in model_server.py."""
