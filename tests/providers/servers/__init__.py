"""One strict server for each provider family: it answers as the provider does, and refuses what the provider refuses.

Every rule is a small function with the page or the issue that publishes it. A rule has the words in which the provider
refuses, so that the adapters meet real messages.
"""
