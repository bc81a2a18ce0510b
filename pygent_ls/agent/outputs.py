"""The whole of results that were cut, for as long as the session lasts: `read_file` shows them in pieces."""

from __future__ import annotations

from collections.abc import Iterator

from pygent_ls.errors import ToolError

READER = "read_file"

PREFIX = "output:"
"""Begins what `read_file` takes in place of a path: `output:` and the id of the tool call."""

MAX_KEPT_BYTES = 16_000_000
"""Of one session: some 80 results of the 200,000 characters at which a command's output ends. They are in memory alone:
nothing of them is left behind when the session or the daemon ends, however it does."""

MAX_NAMED = 5


def is_output(tool_name: str, path: str) -> bool:
    """Whether an argument names a result and no file; a file of such a name is `./output:…`."""
    return tool_name == READER and path.startswith(PREFIX)


class Outputs:
    """One session's results that were cut, as the model may read them: after secrets were taken out."""

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[str, bytes] = {}
        self._dropped: set[str] = set()

    def keep(self, tool_id: str, tool_name: str, content: str) -> str:
        """Keep a whole result; the oldest ones go where there is no room. Returns what tells the model how to read it.

        What `read_file` returned is not kept: it is read again in smaller pieces.
        """
        if tool_name == READER:
            return "[Read fewer lines at a time: start_line, end_line.]"
        self._kept.pop(tool_id, None)
        self._kept[tool_id] = content.encode("utf-8", "surrogatepass")
        for oldest in list(self._too_many()):
            del self._kept[oldest]
            self._dropped.add(oldest)
        if tool_id not in self._kept:
            return "[It is too long to be kept whole: make the call again so that it says less.]"
        return f"[The whole of it: {READER} with path {PREFIX}{tool_id}, and start_line and end_line.]"

    def _too_many(self) -> Iterator[str]:
        n_bytes = sum(map(len, self._kept.values()))
        for tool_id, content in self._kept.items():
            if n_bytes <= self._max_bytes:
                return
            n_bytes -= len(content)
            yield tool_id

    def text_of(self, path: str) -> str:
        """The whole of what `output:ID` names. Raises `ToolError`: it is not kept any more, or never was."""
        tool_id = path.removeprefix(PREFIX)
        if tool_id in self._kept:
            return self._kept[tool_id].decode("utf-8", "surrogatepass")
        if tool_id in self._dropped:
            raise ToolError(f"{path} is no longer kept: later results took its room. Make the call again.")
        kept = ", ".join(f"{PREFIX}{each}" for each in list(self._kept)[-MAX_NAMED:])
        raise ToolError(
            f"There is no {path}: only results that were cut are kept, in the session that they were made in. "
            + (f"The last ones here are {kept}." if kept else "There is none here.")
        )

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()
        self._dropped.clear()
