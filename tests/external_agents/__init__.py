"""Agents that others wrote as models of our sessions: their recorded wires, and the programs themselves."""
