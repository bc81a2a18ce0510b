"""`pygent-ls demo`: an editor in a few hundred lines, which shows one turn of the real daemon.

It knows nothing of the daemon but its protocol, and needs nothing but the standard library.
"""
