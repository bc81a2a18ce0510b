"""Command `pygent-ls demo`: a minimal editor that shows one turn of the real daemon.

It uses only the daemon's protocol and the standard library.
"""
