"""Pictures for models, checked and scaled down in a separate process (`picture_process.py`)."""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from pygent_ls.agent.context.images import picture
from pygent_ls.agent.ports.pictures import Picture
from pygent_ls.agent.ports.processes import Processes, ProcessSpec, ReadOnly
from pygent_ls.errors import ToolError

PROGRAM = Path(__file__).with_name("picture_process.py")

TIMEOUT_S = 30.0
"""Time limit, twice the program's CPU limit since the machine may be busy."""

MAX_SIDE = 2_000
"""Maximum width and height: Anthropic refuses larger pictures if a request has more than 20 of them, and scales those
above 1,568 pixels down itself."""

MAX_BYTES = 2_000_000
"""Maximum size: Anthropic refuses more than 5 MiB of base64, the smallest limit of the large providers."""

MAX_PIXELS = 80_000_000
"""Maximum number of pixels that are decoded: more than cameras have, and 320 MB of memory."""


class PictureConverter:
    """Implementation of `Pictures`."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def fitted(self, data: bytes, name: str) -> Picture:
        """Implement `Pictures`."""
        job = {"max_side": MAX_SIDE, "max_bytes": MAX_BYTES, "max_pixels": MAX_PIXELS}
        with _private_folder() as scratch:
            result = await self._processes.run(
                ProcessSpec(
                    argv=(sys.executable, "-P", str(PROGRAM)),
                    cwd=Path(scratch),
                    timeout_s=TIMEOUT_S,
                    max_output_chars=2 * MAX_BYTES,
                    stdin_bytes=json.dumps(job).encode() + b"\n" + data,
                    read_only=ReadOnly(scratch=Path(scratch), reads=(Path(sys.prefix), PROGRAM.parents[1])),
                )
            )
        if result.timed_out or result.exit_code != 0:
            raise ToolError(
                f"{name} cannot be shown: decoding it ({len(data):,} bytes) failed or took too much time or memory."
            )
        told: Any = json.loads(result.stdout)
        if "problem" in told:
            raise ToolError(f"{name} cannot be shown as an image: {told['problem']}.")
        return Picture(
            image=picture(base64.b64decode(told["data"]) if told["data"] else data, name),
            width=told["width"],
            height=told["height"],
            shown_width=told["shown_width"],
            shown_height=told["shown_height"],
            n_frames=told["n_frames"],
        )


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder; links are resolved so that the sandbox finds it."""
    return tempfile.TemporaryDirectory(prefix="pygent-picture-", dir=os.path.realpath(tempfile.gettempdir()))
