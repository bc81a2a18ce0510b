"""Answers that providers gave, replayed to the real adapters over loopback HTTP: `python -m tests.provider_traffic`."""
