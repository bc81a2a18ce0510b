"""A namespace with an /etc of its own, for the administrator's file at its real path."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.e2e.command_line import COMMAND, WAIT_S, clean_environment

NEEDED = ("passwd", "group", "ld.so.cache", "localtime")
"""Files of /etc that programs need."""


class Namespace:
    """A root folder like the machine's, except for /etc, in which this user is root."""

    def __init__(self, folder: Path) -> None:
        self.etc = folder / "etc"
        self.folder = folder / "project"
        self.home = folder / "home"
        self.variables: dict[str, str] = {}
        """Environment of every run."""
        for each in (self.etc / "pygent-ls", self.folder, self.home):
            each.mkdir(parents=True)
        for name in NEEDED:
            if Path("/etc", name).is_file():
                shutil.copy(Path("/etc", name), self.etc / name)

    @property
    def file(self) -> Path:
        """The file that is /etc/pygent-ls/config.toml inside."""
        return self.etc / "pygent-ls" / "config.toml"

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command inside."""
        outside = ("etc", "proc", "dev")
        binds: list[str] = []
        for each in sorted(Path("/").iterdir()):
            if each.is_symlink():
                binds += ["--symlink", str(each.readlink()), str(each)]
            elif each.is_dir() and each.name not in outside:
                binds += ["--bind", str(each), str(each)]
        own = ["--bind", str(self.etc), "/etc", "--proc", "/proc", "--dev", "/dev", "--chdir", str(self.folder)]
        return subprocess.run(
            ["bwrap", "--unshare-user", "--uid", "0", "--gid", "0", *binds, *own, "--", *COMMAND, *arguments],
            env=clean_environment(self.home, **{**self.variables, **variables}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
