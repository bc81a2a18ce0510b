"""The fleet: its ledger, its attempts, and real processes of it."""
