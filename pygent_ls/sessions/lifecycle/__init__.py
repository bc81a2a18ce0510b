"""Sessions in memory: registry, eviction, crash recovery."""
