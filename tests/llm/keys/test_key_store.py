"""Saved keys: on the disk, in a keyring, and between two daemons."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pygent_ls.errors import KeyStoreError
from pygent_ls.llm.keys.key_store import KeyStore
from pygent_ls.llm.keys.system_keyring import NoKeyringError, SystemKeyring
from tests.llm.setup.keyrings import NO_KEYRING, ROOT, environment_with, kept

KEY = "0123456789abcdef-mistral"


def store_in(home: Path, keyring: str = "") -> KeyStore:
    """A store whose keyring is one of `keyrings`, or none."""
    if not keyring:
        return KeyStore(home / "state", _None())
    environment = {**os.environ, **environment_with(keyring, home)}
    return KeyStore(home / "state", SystemKeyring(environment=environment))


class _None:
    """A machine without a keyring."""

    def get(self, provider: str) -> str | None:
        raise NoKeyringError("none")

    def set(self, provider: str, key: str) -> str:
        raise NoKeyringError("none")

    def delete(self, provider: str) -> None:
        raise NoKeyringError("none")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def n_reads(home: Path) -> int:
    file = home / "reads"
    return len(file.read_text()) if file.exists() else 0


# In the file


def test_without_a_keyring_a_key_is_in_a_file_that_only_its_owner_reads_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        where = store_in(tmp_path).save("mistral", KEY)
    finally:
        os.umask(before)

    file = tmp_path / "state" / "keys.json"
    assert where == f"{file}, which only you can read"
    assert (mode_of(file), mode_of(file.parent)) == (0o600, 0o700)
    assert sorted(each.name for each in file.parent.iterdir()) == ["keys.json", "keys.lock"]
    assert store_in(tmp_path).get("mistral") == KEY


def test_a_machine_whose_keyring_fails_or_is_plain_text_counts_as_one_without(tmp_path: Path) -> None:
    for backend in (
        NO_KEYRING,
        environment_with("PlaintextKeyring", tmp_path),
        {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"},
    ):
        system = SystemKeyring(environment={**os.environ, **backend})
        with pytest.raises(NoKeyringError, match="no keyring is available on this system"):
            system.set("mistral", KEY)
    assert kept(tmp_path) == {}


@pytest.mark.parametrize("name", ["tests.llm.setup.keyrings.Nothing", "no.such.module.Keyring"])
def test_a_keyring_that_is_configured_and_not_there_counts_as_none(name: str) -> None:
    system = SystemKeyring(environment={**os.environ, "PYTHONPATH": str(ROOT), "PYTHON_KEYRING_BACKEND": name})

    with pytest.raises(NoKeyringError, match="the configured one cannot be loaded"):
        system.set("mistral", KEY)


def test_the_keyring_of_this_machine_is_asked_without_an_error_or_there_is_none() -> None:
    plain = {name: value for name, value in os.environ.items() if name != "PYTHON_KEYRING_BACKEND"}
    system = SystemKeyring(environment={**plain, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"})

    try:
        found = system.get("no-such-provider")
    except NoKeyringError:
        found = None
    assert found is None


def test_a_running_daemon_sees_a_key_that_another_process_saves_replaces_and_removes(tmp_path: Path) -> None:
    daemon, command = store_in(tmp_path), store_in(tmp_path)
    assert daemon.get("mistral") is None

    command.save("mistral", KEY)
    assert daemon.get("mistral") == KEY
    command.save("mistral", "another-key-of-mistral")
    assert daemon.get("mistral") == "another-key-of-mistral"
    assert command.forget("mistral")
    assert daemon.get("mistral") is None
    assert not command.forget("mistral")


def test_two_processes_that_save_at_once_keep_both_keys(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.llm.keys.test_key_store import store_in\n"
        "store = store_in(Path(sys.argv[1]))\n"
        "for n in range(20): store.save(f'{sys.argv[2]}{n}', 'k' * 20)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], cwd=ROOT) for name in ("left", "right")
    ]
    assert [each.wait(60) for each in processes] == [0, 0]

    assert len(store_in(tmp_path).providers()) == 40


def test_a_file_that_others_can_read_is_closed_to_them_and_that_is_said(tmp_path: Path) -> None:
    store_in(tmp_path).save("mistral", KEY)
    file = tmp_path / "state" / "keys.json"
    file.chmod(0o644)

    store = store_in(tmp_path)
    assert store.get("mistral") == KEY
    assert mode_of(file) == 0o600
    assert store.get("mistral") == KEY
    (problem,) = store.problems
    assert "Other users could read the saved keys" in problem
    assert KEY not in problem


def test_a_link_in_place_of_the_file_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps({"version": 1, "keys": {"mistral": {"in": "file", "key": KEY}}}))
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "keys.json").symlink_to(elsewhere)
    store = store_in(tmp_path)

    assert store.get("mistral") is None
    with pytest.raises(KeyStoreError, match="Remove the file and run `pygent-ls setup`"):
        store.save("openai", KEY)
    assert "openai" not in elsewhere.read_text()


def test_a_damaged_file_gives_no_key_and_is_not_overwritten(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.save("mistral", KEY)
    store.file.write_text("{")

    assert store.get("mistral") is None
    assert store.problems == (
        f"The saved keys in {store.file} are not used: it is damaged. Remove the file and run `pygent-ls setup`.",
    )
    with pytest.raises(KeyStoreError, match="damaged"):
        store.save("openai", KEY)
    assert store.file.read_text() == "{"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_in_its_place_gives_no_key_and_is_said(tmp_path: Path, make: Callable[[Path], None]) -> None:
    store = store_in(tmp_path)
    store.file.parent.mkdir(exist_ok=True)
    make(store.file)

    assert (store.get("mistral"), store.providers()) == (None, ())
    assert store.problems == (
        f"The saved keys in {store.file} are not used: it is not a regular file. Remove the file and run `pygent-ls "
        "setup`.",
    )
    with pytest.raises(KeyStoreError, match="not a regular file"):
        store.save("mistral", KEY)
    assert not store.forget("mistral")


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")

    with pytest.raises(KeyStoreError, match="The keys cannot be saved in"):
        store_in(tmp_path).save("mistral", KEY)


# In a keyring


def test_a_key_goes_into_the_keyring_of_the_system_and_not_into_the_file(tmp_path: Path) -> None:
    store = store_in(tmp_path, "WorkingKeyring")

    assert store.save("anthropic", KEY) == "the system keyring (keyrings WorkingKeyring)"
    assert kept(tmp_path) == {"pygent-ls/anthropic": KEY}
    assert KEY not in store.file.read_text()
    assert store_in(tmp_path, "WorkingKeyring").get("anthropic") == KEY

    assert store.forget("anthropic")
    assert (kept(tmp_path), store.get("anthropic")) == ({}, None)


def test_the_keyring_is_read_once_a_key_and_never_for_a_provider_without_one(tmp_path: Path) -> None:
    store_in(tmp_path, "WorkingKeyring").save("anthropic", KEY)
    n_before = n_reads(tmp_path)
    daemon = store_in(tmp_path, "WorkingKeyring")

    daemon.refresh()
    found = [daemon.get(name) for name in ("anthropic", "openai", "anthropic")]

    assert found == [KEY, None, KEY]
    assert n_reads(tmp_path) - n_before == 1
    assert daemon.known == (KEY,)


def test_a_keyring_that_prints_is_understood(tmp_path: Path) -> None:
    store_in(tmp_path, "TalkativeKeyring").save("anthropic", KEY)

    assert store_in(tmp_path, "TalkativeKeyring").get("anthropic") == KEY


def test_a_keyring_that_keeps_nothing_is_not_relied_on(tmp_path: Path) -> None:
    where = store_in(tmp_path, "ForgetfulKeyring").save("anthropic", KEY)

    assert where.endswith("keys.json, which only you can read")


def test_a_keyring_that_fails_is_said_without_the_key_and_nothing_is_saved(tmp_path: Path) -> None:
    store = store_in(tmp_path, "LockedKeyring")

    with pytest.raises(KeyStoreError) as caught:
        store.save("anthropic", KEY)

    assert str(caught.value) == "The system keyring failed (RuntimeError). Unlock it and try again."
    assert store.providers() == ()
    store.save_in_file("anthropic", KEY)
    assert store_in(tmp_path, "LockedKeyring").get("anthropic") == KEY
    assert stat.S_IMODE(store.file.stat().st_mode) == 0o600


def test_a_keyring_that_hangs_holds_nothing_up_and_is_asked_again_later(tmp_path: Path) -> None:
    store_in(tmp_path, "WorkingKeyring").save("anthropic", KEY)
    hanging = SystemKeyring(
        environment={**os.environ, **environment_with("HangingKeyring", tmp_path)}, read_timeout_s=1
    )
    now_s = 0.0
    store = KeyStore(tmp_path / "state", hanging, clock=lambda: now_s)

    assert store.get("anthropic") is None
    (problem,) = store.problems
    assert problem.startswith(
        "The saved key for anthropic cannot be read. The system keyring did not answer within 1 s."
    )

    recovered = KeyStore(tmp_path / "state", _Recovering(), clock=lambda: now_s)
    assert [recovered.get("anthropic"), recovered.get("anthropic")] == [None, None]
    now_s = 61.0
    assert recovered.get("anthropic") == KEY
    assert recovered.problems == ()


def test_what_is_in_memory_can_be_asked_while_a_keyring_takes_its_time(tmp_path: Path) -> None:
    file_only = store_in(tmp_path)
    file_only.save("openai", KEY)
    slow = _Slow()
    KeyStore(tmp_path / "state", slow).save("anthropic", KEY)
    store = KeyStore(tmp_path / "state", slow)
    refreshing = threading.Thread(target=store.refresh)
    refreshing.start()
    try:
        assert slow.is_asked.wait(30)

        assert store.get("openai") == KEY
        assert store.known == (KEY,)
        assert store.version is not None
    finally:
        slow.may_answer.set()
        refreshing.join(30)
    assert store.get("anthropic") == "slow-key-of-anthropic"


class _Slow(_None):
    """Answers when it may."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()

    def get(self, provider: str) -> str | None:
        self.is_asked.set()
        return "slow-key-of-anthropic" if self.may_answer.wait(30) else None

    def set(self, provider: str, key: str) -> str:
        return "Slow"


class _Recovering(_None):
    """Fails once."""

    def __init__(self) -> None:
        self._n = 0

    def get(self, provider: str) -> str | None:
        self._n += 1
        if self._n == 1:
            raise KeyStoreError("locked")
        return KEY
