"""Conversion of web server answers to text in a separate process (`page_process.py`)."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from pygent_ls.agent.ports.processes import Processes, ProcessSpec, ReadOnly
from pygent_ls.agent.ports.web import WebResponse, WebText
from pygent_ls.errors import ToolError

PROGRAM = Path(__file__).with_name("page_process.py")

CONVERT_S = 20.0
"""Time limit, twice the program's CPU limit since the machine may be busy."""

MAX_CHARS = 200_000
"""Maximum length of a page's text that is returned."""


async def page_text(processes: Processes, response: WebResponse, url: str, limit_s: float) -> WebText:
    """Return an answer's text, HTML as markdown. Raises `ToolError` if that takes too much time or memory."""
    job = {
        "url": url,
        "content_type": response.content_type,
        "charset": response.charset,
        "max_chars": MAX_CHARS,
    }
    with _private_folder() as scratch:
        result = await processes.run(
            ProcessSpec(
                argv=(sys.executable, "-P", str(PROGRAM)),
                cwd=Path(scratch),
                timeout_s=limit_s,
                max_output_chars=MAX_CHARS * 8,  # a JSON-escaped character takes six
                stdin_bytes=json.dumps(job).encode() + b"\n" + response.body,
                read_only=ReadOnly(scratch=Path(scratch), reads=(Path(sys.prefix), PROGRAM.parents[1])),
            )
        )
    if result.timed_out or result.exit_code != 0:
        raise ToolError(
            f"{url} cannot be shown: converting this page to text ({len(response.body):,} bytes) took too much "
            "time or memory and was stopped. Look for the same content elsewhere, as plain text or as a smaller "
            "page."
        )
    told: Any = json.loads(result.stdout)
    return WebText(text=told["text"], n_chars=told["n_chars"], is_cut=told["is_cut"])


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder; links are resolved so that the sandbox finds it."""
    return tempfile.TemporaryDirectory(prefix="pygent-page-", dir=os.path.realpath(tempfile.gettempdir()))
