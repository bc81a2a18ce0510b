"""The first and the last line of a process in its log."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from time import monotonic

from pygent_ls import __version__
from pygent_ls.config_sources import state_folder
from pygent_ls.log import set_up
from pygent_ls.log_file import NAME, keep_log_file

log = logging.getLogger(__name__)


def log_path() -> Path:
    """The log file: in the state folder, which tools of the agent may not write; it need not be there."""
    return state_folder() / "log" / NAME


class Logged:
    """Logging, from its making on; `what` is the command, for people."""

    def __init__(self, what: str) -> None:
        set_up(os.environ)
        keep_log_file(log_path())
        self._what = what
        self._began_s = monotonic()
        python = ".".join(map(str, sys.version_info[:3]))
        log.info("%s starts: pygent-ls %s, Python %s, %s", what, __version__, python, sys.platform)

    def ended(self, code: int) -> int:
        """Say that it ends with this exit code, which is returned."""
        log.info("%s ends with exit code %d after %.1f s", self._what, code, monotonic() - self._began_s)
        return code
