"""Log lines for the start and the end of a process."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from time import monotonic

from pygent_ls import __version__
from pygent_ls.config.sources import state_folder
from pygent_ls.observability.log import set_up
from pygent_ls.observability.log_file import NAME, keep_log_file

log = logging.getLogger(__name__)


def log_path() -> Path:
    """Return the path of the log file, in the state folder, which tools cannot write. The file need not exist."""
    return state_folder() / "log" / NAME


class Logged:
    """Sets up logging and logs the start of a process; `what` is the command's name."""

    def __init__(self, what: str) -> None:
        set_up(os.environ)
        keep_log_file(log_path())
        self._what = what
        self._began_s = monotonic()
        python = ".".join(map(str, sys.version_info[:3]))
        log.info("%s starts: pygent-ls %s, Python %s, %s", what, __version__, python, sys.platform)

    def ended(self, code: int) -> int:
        """Log that the process ends with this exit code, and return the code."""
        log.info("%s ends with exit code %d after %.1f s", self._what, code, monotonic() - self._began_s)
        return code
