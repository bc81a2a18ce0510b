"""The core: loop, tool calls, permissions, context and ports. It knows no editor and no provider, and does no IO."""
