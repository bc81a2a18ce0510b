"""Types of the wire protocol, and conversion of the core's values to them."""
