"""Any plan gives what its operations mean one after the other, or changes nothing at all."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.workspace import CopyBytes, DeleteFile, Document, FileOperation, MoveFile, WriteText
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.files.document_text import digest
from tests.workspace.trees import plan, snapshot

NAMES = ["a", "b", "d/x", "d/y", "e/f/z"]
Files = dict[str, str]


@dataclass(frozen=True)
class Step:
    """An operation before it is known which document it is about."""

    kind: str
    name: str
    other: str
    is_stale: bool


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["create", "edit", "edit", "copy", "move", "delete"]),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.integers(0, 9).map(lambda number: number == 0),
    ),
    min_size=1,
    max_size=5,
)


def expected(files: Files, steps: Sequence[Step]) -> Files | None:
    """Return the files after all steps; None if a step is not possible."""
    after = dict(files)
    for number, step in enumerate(steps):
        source_needed = step.kind != "create"
        target_free = {"create": step.name, "copy": step.other, "move": step.other}.get(step.kind)
        if (source_needed and step.name not in after) or (target_free is not None and target_free in after):
            return None
        if step.is_stale and step.kind in {"edit", "delete"}:
            return None
        match step.kind:
            case "create" | "edit":
                after[step.name] = f"text {number}"
            case "copy":
                after[step.other] = after[step.name]
            case "move":
                after[step.other] = after.pop(step.name)
            case _:
                del after[step.name]
    return after


def operations(folder: Path, files: Files, steps: Sequence[Step]) -> list[FileOperation]:
    """The steps as operations, each made from what the file would hold then."""
    made: list[FileOperation] = []
    now = dict(files)
    for number, step in enumerate(steps):
        path, other = folder / step.name, folder / step.other
        text = "stale" if step.is_stale else now.get(step.name, "nothing")
        before = Document(path=path, text=text, digest=digest(text), stamp="")
        match step.kind:
            case "create":
                made.append(WriteText(path=path, before=None, text=f"text {number}"))
            case "edit":
                made.append(WriteText(path=path, before=before, text=f"text {number}"))
            case "copy":
                made.append(CopyBytes(source=path, destination=other))
            case "move":
                made.append(MoveFile(source=path, destination=other))
            case _:
                made.append(DeleteFile(path=path, before=before))
        now = expected(now, [step]) or now
        if step.kind in {"create", "edit"}:
            now[step.name] = f"text {number}"
    return made


@given(files=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["one", "two"]), max_size=4), steps=STEPS)
def test_a_plan_does_all_that_it_says_or_nothing(files: Files, steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        before = snapshot(folder)
        wanted = expected(files, steps)
        try:
            asyncio.run(DiskWorkspace([folder]).apply(plan(*operations(folder, files, steps))))
        except ToolError:
            assert wanted is None
            assert snapshot(folder) == before
        else:
            found = {key: content for key, (kind, content) in snapshot(folder).items() if kind.startswith("-")}
            assert found == {key: text.encode() for key, text in (wanted or {}).items()}
            assert wanted is not None
