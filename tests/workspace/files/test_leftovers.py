"""Whenever the program is killed in an edit, the next one leaves no file of its own behind and loses none of yours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.workspace.files.leftovers import clean_up
from tests.workspace.trees import run_script

KILLED_AT_EACH_STEP = """
import asyncio, json, os, shutil, signal, sys
from pathlib import Path

from pygent_ls.agent.ports.workspace import CopyBytes, DeleteFile, EditPlan, MoveFile, WriteText
from pygent_ls.workspace.files import leftovers, temporary_files, transaction
from pygent_ls.workspace.files.reader import read_document

folder, state = Path(sys.argv[1]), Path(sys.argv[2])
OLD = {"changed": "old", "gone": "only copy", "gone too": "another", "from": "moved", "empty from": "",
       "copied": "copy", ".pygent-0123456789abcdef.tmp": "a user's own", "link": "-> gone"}
NEW = {"changed": "new", "to": "moved", "empty to": "", "copied": "copy", "copy": "copy", "made": "made",
       "sub": "a folder", "sub/folder": "a folder", "sub/folder/made": "made",
       ".pygent-0123456789abcdef.tmp": "a user's own", "from": "again", "empty from": "again"}

def begin():
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in OLD.items():
        if name == "link":
            (folder / name).symlink_to("gone")
        else:
            (folder / name).write_text(text)

def found():
    return {str(each.relative_to(folder)): text_of(each) for each in folder.rglob("*")}

def text_of(path):
    if path.is_dir():
        return "a folder"
    return f"-> {path.readlink()}" if path.is_symlink() else path.read_text()

async def edit():
    changed = await read_document(folder / "changed", "changed")
    await transaction.apply_plan(EditPlan(label="", result="", operations=(
        WriteText(path=folder / "changed", before=changed, text="new"),
        DeleteFile(path=folder / "gone", before=None),
        DeleteFile(path=folder / "link", before=None),
        MoveFile(source=folder / "from", destination=folder / "to"),
        MoveFile(source=folder / "empty from", destination=folder / "empty to"),
        CopyBytes(source=folder / "copied", destination=folder / "copy"),
        WriteText(path=folder / "made", before=None, text="made"),
        WriteText(path=folder / "sub/folder/made", before=None, text="made"),
        DeleteFile(path=folder / "gone too", before=None),
        WriteText(path=folder / "from", before=None, text="again"),
        WriteText(path=folder / "empty from", before=None, text="again"),
    )))

CHANGING = {"os.rename", "os.remove", "os.rmdir", "os.link", "os.mkdir", "os.symlink"}

def changes(event, arguments):
    return event in CHANGING or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))

seen, n_changes = [], 0
while True:
    begin()
    child = os.fork()
    if not child:
        left = [n_changes]
        def killed_before(event, arguments):
            if changes(event, arguments):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        temporary_files.keep_record(state)
        sys.addaudithook(killed_before)
        asyncio.run(edit())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    before = found()
    leftovers.clean_up(state)
    seen.append([before, found(), [each.name for each in state.iterdir()] if state.exists() else []])
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, n_changes
        break
    n_changes += 1
print(json.dumps({"old": OLD, "new": NEW, "seen": seen}))
"""


def test_at_whatever_step_an_edit_is_killed_no_file_of_ours_stays_and_none_of_the_users_is_lost(tmp_path: Path) -> None:
    told = json.loads(run_script(KILLED_AT_EACH_STEP, str(tmp_path / "project"), str(tmp_path / "unfinished")))
    old, new = told["old"], told["new"]
    n_with_ours = 0
    is_over = False
    for before, found, records in told["seen"]:
        n_with_ours += len([each for each in before if each.startswith(".pygent-")]) > 1
        assert records == []
        assert found.keys() <= old.keys() | new.keys()
        assert all(text in (old.get(name), new.get(name)) for name, text in found.items())
        deleted = {"gone", "gone too", "link"} - found.keys()
        is_over = is_over or bool(deleted)
        assert found == new if is_over else deleted == set(), "what was to be deleted is there until all else is done"
        assert ("sub" in found) == ("sub/folder" in found) == ("sub/folder/made" in found)
        assert "from" in found or "to" in found
        assert "empty from" in found or "empty to" in found
    assert told["seen"][-1][0] == new, "the last one was not killed"
    assert len(told["seen"]) > 30, "steps"
    assert n_with_ours > 15


def test_what_a_living_process_is_about_to_do_is_left_to_it(tmp_path: Path) -> None:
    script = """
import subprocess, sys
from pathlib import Path
from pygent_ls.workspace.files.temporary_files import draft_in, keep_record, remove
folder, state = Path(sys.argv[1]), Path(sys.argv[2])
keep_record(state)
draft = draft_in(folder)
draft.write_text("being written")
code = "from pathlib import Path; from pygent_ls.workspace.files.leftovers import clean_up"
code += "; clean_up(Path(%r))" % str(state)
subprocess.run([sys.executable, "-c", code], check=True)
print(draft.read_text(), len(list(state.iterdir())))
remove([draft])
print(len(list(state.iterdir())), len(list(folder.iterdir())))
"""
    (tmp_path / "project").mkdir()

    assert run_script(script, str(tmp_path / "project"), str(tmp_path / "state")) == "being written 1\n0 0\n"


def test_a_file_that_would_come_back_replaces_nothing(tmp_path: Path) -> None:
    aside = tmp_path / ".pygent-0123456789abcdef.tmp"
    aside.write_text("old")
    (tmp_path / "a").write_text("made since")
    records = tmp_path / "records"
    records.mkdir()
    (records / "unfinished-1.jsonl").write_text(json.dumps({"aside": str(aside), "of": str(tmp_path / "a")}))

    clean_up(records)

    assert (tmp_path / "a").read_text() == "made since"
    assert aside.read_text() == "old"


KEYS = ("draft", "aside", "of", "holder", "inode", "source", "dropped")
VALUES: tuple[object, ...] = ("mine", "folder", ".", "", "\0", "\ud800", 1, None, [], ["mine"], {})


def as_line(given: Mapping[Any, Any]) -> bytes:
    return json.dumps(given).encode()


@given(
    st.lists(
        st.binary(max_size=20) | st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)).map(as_line),
        max_size=6,
    )
)
def test_no_record_whatever_it_holds_touches_a_file_that_is_not_ours(lines: list[bytes]) -> None:
    with TemporaryDirectory() as name:
        project, records = Path(name, "project"), Path(name, "records")
        (project / "folder").mkdir(parents=True)
        (project / "mine").write_text("mine")
        records.mkdir()
        (records / "unfinished-1.jsonl").write_bytes(
            b"\n".join(lines).replace(b'"mine"', json.dumps(str(project / "mine")).encode())
        )

        clean_up(records)

        assert list(records.iterdir()) == []
        assert (project / "mine").read_text() == "mine"
        assert (project / "folder").is_dir()
