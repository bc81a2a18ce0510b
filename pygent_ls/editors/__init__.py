"""Front ends: each speaks one protocol and decides nothing."""
