"""Cost of snapshots and edits for the daemon.

A second snapshot of a folder of 10,000 files in which 10 have changed: at most 150 ms, with and without a repository.
A change of 10 lines in an open file of 50,000, from the plan to the proof: at most 50 ms if they are adjacent (far
apart is measured too, without an aim). A change of every third line of 60,000: at most 2 s.

The editor is played by a few lines that send the edit straight back as its `didChange`, so that what is measured is the
daemon's own: verifying, the patch that the user is shown, the smallest edits, and taking the change in.

usage: python benchmarks/edits.py [ROUNDS]
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

from pygent_ls.agent.edits.diffs import changes_of
from pygent_ls.agent.ports.workspace import EditPlan
from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.documents.workspace_edits import EditorEdits
from pygent_ls.editors.lsp.ports.document_saves import DocumentSaves
from pygent_ls.editors.lsp.ports.workspace import LspWorkspace
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from pygent_ls.editors.lsp.rpc.converter import structured
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.uris import FileUris
from pygent_ls.tools.files.edit_file import changed_lines, rewrite
from pygent_ls.workspace.snapshots.snapshots import Snapshots

ROUNDS = 15

N_FILES, N_CHANGED = 10_000, 10

N_LINES, N_EDITED = 50_000, 10

MANY_LINES = 60_000


def main() -> None:
    """Measure and write."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        git, plain = folder / "git", folder / "plain"
        figures = {
            "what": "milliseconds; a later snapshot of 10,000 files with 10 changed, and edits of long files",
            "rounds": rounds,
            "snapshot_with_git": asyncio.run(snapshots(git, many_files(git, with_git=True), rounds)),
            "snapshot_without_git": asyncio.run(snapshots(plain, many_files(plain, with_git=False), rounds)),
            "edit_of_10_lines": asyncio.run(
                edits(long_file(folder / "block"), rounds, range(N_LINES // 2, N_LINES // 2 + N_EDITED))
            ),
            "edit_of_10_lines_far_apart": asyncio.run(
                edits(long_file(folder / "apart"), rounds, range(0, N_EDITED * 4_999, 4_999))
            ),
            "edit_of_20000_lines": asyncio.run(
                edits(long_file(folder / "many", MANY_LINES), rounds, range(0, MANY_LINES, 3))
            ),
        }
    write_result("edits", figures)


def long_file(folder: Path, n_lines: int = N_LINES) -> Path:
    """A file of so many lines."""
    folder.mkdir()
    path = folder / "long.py"
    path.write_text("".join(f"value_{number} = compute({number}, 'some text')\n" for number in range(n_lines)))
    return path


def many_files(folder: Path, *, with_git: bool) -> list[Path]:
    """A folder of 10,000 files."""
    files = [folder / f"d{number // 100}" / "sub" / f"f{number}.py" for number in range(N_FILES)]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"print({number})\n" * 20)
    if with_git:
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            identity = ["-c", "user.name=b", "-c", "user.email=b@example.org", "-c", "commit.gpgsign=false"]
            subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)
    return files


async def snapshots(folder: Path, files: list[Path], rounds: int) -> dict[str, float]:
    """The first snapshot, and the later ones."""
    keeper = Snapshots(folder.with_name(f"{folder.name}-stores"), lambda: shutil.which("git"), days=30)
    first = await taken(keeper, folder)
    later: list[float] = []
    for number in range(rounds):
        for file in files[number::997][:N_CHANGED]:
            file.write_text(f"changed {number}\n")
        later.append(await taken(keeper, folder))
    return {"first_ms": round(first, 1), **summary(later)}


async def taken(keeper: Snapshots, folder: Path) -> float:
    begin = perf_counter()
    await keeper.take([folder], {})
    return (perf_counter() - begin) * 1000


class EchoingEditor:
    """The client: carries out each edit by sending it back as a change."""

    def __init__(self, buffers: Buffers) -> None:
        self.patience = Patience()
        self._buffers = buffers
        self._version = 1

    async def present(self) -> None:
        """The editor is always connected."""

    async def ask(self, method: str, params: Mapping[str, Any], **_: object) -> Mapping[str, Any]:
        """`workspace/applyEdit`, its parameters and the change as they go over the wire."""
        assert method == "workspace/applyEdit"
        (change,) = json.loads(json.dumps(params))["edit"]["documentChanges"]
        self._version += 1
        told = {
            "textDocument": {"uri": change["textDocument"]["uri"], "version": self._version},
            "contentChanges": [{"range": each["range"], "text": each["newText"]} for each in reversed(change["edits"])],
        }
        taken_in = structured("textDocument/didChange", json.loads(json.dumps(told)), lsp.DidChangeTextDocumentParams)
        self._buffers.changed(taken_in.text_document, taken_in.content_changes)
        return {"applied": True}


async def edits(path: Path, rounds: int, edited: range) -> dict[str, float]:
    """These lines are changed again and again."""
    folder = path.parent
    buffers = Buffers(lambda _: None)
    editor = EchoingEditor(buffers)
    endpoint = cast("RpcEndpoint", editor)
    features = ClientFeatures(apply_edit=True, document_changes=True)
    uris = FileUris()
    uris.set_folders([folder.as_uri()])
    workspace = LspWorkspace(
        buffers,
        EditorEdits(endpoint=endpoint, features=features, buffers=buffers, uris=uris),
        DocumentSaves(endpoint=endpoint, features=features, buffers=buffers),
        [folder],
    )
    document = await workspace.read(path)
    buffers.opened(lsp.TextDocumentItem(uri=path.as_uri(), language_id="python", version=1, text=document.text))
    times: list[float] = []
    for number in range(rounds):
        document = await workspace.read(path)
        lines = document.text.splitlines(keepends=True)
        for line in edited:
            lines[line] = f"value_{line} = edited({number})\n"
        text = "".join(lines)
        begin = perf_counter()
        write = rewrite(await workspace.read(path), text, workspace.shown(path))
        plan = EditPlan(label="edit", operations=(write,), result=changed_lines(write))
        changes_of(plan, workspace.shown)
        await workspace.apply(plan)
        times.append((perf_counter() - begin) * 1000)
        assert (await workspace.read(path)).text == text
    return summary(times)


def summary(times: list[float]) -> dict[str, float]:
    """Median, best and worst."""
    return {
        "median_ms": round(statistics.median(times), 1),
        "min_ms": round(min(times), 1),
        "max_ms": round(max(times), 1),
    }


if __name__ == "__main__":
    main()
