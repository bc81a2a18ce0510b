"""JSON-RPC: decoding, requests in both directions, errors, and client quirks."""
