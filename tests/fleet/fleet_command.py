"""The command in a real process, with a home of its own, and what it leaves."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.e2e.command_line import COMMAND, WAIT_S, clean_environment, tool
from tests.model_server import Call, ModelServer, Step
from tests.tools.repository import committed_project, git

EDIT = Step(calls=(Call(name="edit_file", arguments={"path": "app.py", "old": "x = 1", "new": "x = 2"}),))
EDITED = tool("edit_file", path="app.py", old="x = 1", new="x = 2")
DONE = Step(text="Done.")


def shell(command: str) -> Step:
    """An answer that runs a command."""
    return Step(calls=(Call(name="shell", arguments={"command": command}),))


class Fleet(Struct, frozen=True, kw_only=True):
    """A folder with a task file and a repository, and how the command is started there."""

    folder: Path
    environment: Mapping[str, str]

    @classmethod
    def within(cls, folder: Path, **environment: str) -> Fleet:
        """A new one, whose repository `project` has one commit."""
        home = folder / "home"
        home.mkdir()
        committed_project(folder / "project")
        return cls(folder=folder, environment=clean_environment(home, XDG_DATA_HOME=str(home / "data"), **environment))

    def with_server(self, server: ModelServer) -> Fleet:
        """The same, with `openai/mock` on this server as the model."""
        more = {**server.env(), "PYGENT_MODEL": "openai/mock"}
        return Fleet(folder=self.folder, environment={**self.environment, **more})

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def ledger(self) -> Path:
        return self.folder / "tasks.fleet"

    def write(self, *tasks: Mapping[str, Any] | str) -> None:
        """Write the task file; the repository is `project` unless a task names one."""
        lines = [each if isinstance(each, str) else json.dumps({"repository": "project", **each}) for each in tasks]
        (self.folder / "tasks.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, "fleet", str(self.folder / "tasks.jsonl"), *options],
            env=dict(self.environment),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str) -> tuple[int, str]:
        """Run the command to its end; its exit code and what it said on standard error."""
        process = self.start(*options)
        out, said = process.communicate(timeout=2 * WAIT_S)
        assert out == ""
        assert "Traceback" not in said, said
        return process.returncode, said

    def rows(self) -> list[dict[str, Any]]:
        lines = (self.folder / "tasks.results.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def branch_text(self, task_id: str, path: str = "app.py") -> str:
        """A file as it is on the branch of a task."""
        return git(self.project, "show", f"pygent/{task_id}:{path}")

    def left_over(self) -> list[str]:
        """Worktrees and clones that were not removed, and branches of attempts."""
        data = self.folder / "home" / "data" / "pygent-ls"
        folders = [each.name for each in (*data.glob("worktrees/*/*"), *data.glob("clones/*"))]
        branches = git(self.project, "branch", "--list", "--format=%(refname:short)", "pygent/*.*").split()
        return [*folders, *branches]
