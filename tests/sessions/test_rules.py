"""What "Always allow" stored: a file of its own, outside the workspace."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.agent.permissions.permissions import Rule
from pygent_ls.sessions.rules import FileRuleStore

RULE = Rule(text="edit_file(src/a.py)", decision="allow", origin="always_allow")
OTHER = Rule(text="shell(make test)", decision="allow", origin="always_allow")
DENIED = Rule(text="shell(rm:*)", decision="deny", origin="always_reject")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def stored_file(state: Path) -> Path:
    (file,) = (state / "rules").iterdir()
    return file


def test_the_name_of_a_folder_may_be_no_text(state: Path, tmp_path: Path) -> None:
    workspace = tmp_path / os.fsdecode(b"caf\xe9")

    FileRuleStore(state, workspace).add(RULE)

    assert FileRuleStore(state, workspace).load() == [RULE]


def test_a_stored_rule_is_there_for_the_next_daemon(state: Path, workspace: Path) -> None:
    FileRuleStore(state, workspace).add(RULE)

    assert list(FileRuleStore(state, workspace).load()) == [RULE]


def test_nothing_is_written_into_the_workspace_and_nobody_else_may_read_the_file(state: Path, workspace: Path) -> None:
    FileRuleStore(state, workspace).add(RULE)

    assert list(workspace.iterdir()) == []
    assert stat.S_IMODE(stored_file(state).stat().st_mode) == 0o600


def test_another_workspace_has_its_own_rules(state: Path, workspace: Path) -> None:
    FileRuleStore(state, workspace).add(RULE)

    assert list(FileRuleStore(state, workspace / "inner").load()) == []


def test_two_daemons_do_not_undo_each_others_rules(state: Path, workspace: Path) -> None:
    one, two = FileRuleStore(state, workspace), FileRuleStore(state, workspace)

    one.add(RULE)
    two.add(OTHER)
    one.add(RULE)

    assert list(one.load()) == [RULE, OTHER]


def test_no_rule_is_lost_that_two_daemons_store_at_the_same_time(state: Path, workspace: Path) -> None:
    def store_all(daemon: str) -> None:
        store = FileRuleStore(state, workspace)
        for number in range(20):
            store.add(replace(DENIED, text=f"shell({daemon} {number})"))

    with ThreadPoolExecutor() as daemons:
        list(daemons.map(store_all, "abc"))

    assert len(FileRuleStore(state, workspace).load()) == 60


def test_a_rule_is_taken_back_once(state: Path, workspace: Path) -> None:
    store = FileRuleStore(state, workspace)
    store.add(RULE)
    store.add(OTHER)

    assert store.remove(RULE.text)
    assert not store.remove(RULE.text)

    assert list(FileRuleStore(state, workspace).load()) == [OTHER]


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"version": 1}', b'{"allow": "shell(rm)"}', b'{"allow": [1, null]}', b"\xff\xfe"],
)
def test_a_damaged_file_allows_nothing_and_can_be_written_anew(state: Path, workspace: Path, damage: bytes) -> None:
    store = FileRuleStore(state, workspace)
    store.add(RULE)
    stored_file(state).write_bytes(damage)

    assert list(store.load()) == []
    store.add(OTHER)

    assert list(FileRuleStore(state, workspace).load()) == [OTHER]


def test_what_is_always_rejected_is_kept_beside_what_is_always_allowed(state: Path, workspace: Path) -> None:
    store = FileRuleStore(state, workspace)
    store.add(RULE)
    store.add(DENIED)

    assert list(FileRuleStore(state, workspace).load()) == [RULE, DENIED]
    assert store.remove(DENIED.text)
    assert list(FileRuleStore(state, workspace).load()) == [RULE]


def test_a_file_of_the_first_version_is_read_and_keeps_its_rules(state: Path, workspace: Path) -> None:
    store = FileRuleStore(state, workspace)
    store.add(OTHER)
    first = {"version": 1, "workspace": str(workspace), "allow": [RULE.text]}
    stored_file(state).write_text(json.dumps(first))

    store.add(DENIED)

    assert list(FileRuleStore(state, workspace).load()) == [RULE, DENIED]


def test_the_file_says_its_version_and_its_workspace(state: Path, workspace: Path) -> None:
    FileRuleStore(state, workspace).add(RULE)

    assert json.loads(stored_file(state).read_text()) == {
        "version": 2,
        "workspace": str(workspace),
        "allow": [RULE.text],
        "deny": [],
    }
