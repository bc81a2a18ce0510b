"""Chat documents: conversations in `*.pygent.md` files, for editors that have no chat panel."""
