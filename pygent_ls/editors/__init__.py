"""Front ends: each speaks one protocol and makes no decisions."""
