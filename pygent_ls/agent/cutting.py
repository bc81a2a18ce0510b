"""What is shown of a result that is too long."""

from __future__ import annotations


def cut(content: str, tool_name: str, limit: int) -> tuple[str, bool]:
    """Head and tail of what is too long, and whether anything was left out."""
    if len(content) <= limit:
        return content, False
    half = limit // 2
    note = f"[OUTPUT TRUNCATED: Showing {2 * half} of {len(content)} characters from {tool_name}]"
    return f"{content[:half]}\n[…]\n{content[len(content) - half :]}\n{note}", True
