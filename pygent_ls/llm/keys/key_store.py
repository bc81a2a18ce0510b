"""Store of keys that the user entered: the system keyring if one works, else a file readable only by the user.

`keys.json` in the state folder records for each provider where its key is stored, so that the keyring is not queried
for a provider without a saved key:

    {"version": 1, "keys": {"anthropic": {"in": "keyring", "id": "5f0c…"}, "mistral": {"in": "file", "key": "…"}}}

`id` changes with each save: a running daemon reads a key again when the file has a new id.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct

from pygent_ls.errors import KeyStoreError
from pygent_ls.llm.keys.editor_keys import LEAST_MASKED
from pygent_ls.llm.keys.system_keyring import NoKeyringError

FILE = "keys.json"
LOCK = "keys.lock"
VERSION = 1
MAX_BYTES = 1_000_000
RETRY_S = 60.0
"""Time after which a keyring that did not answer is queried again."""

LOCK_S = 10.0
"""How long another process may lock the file while it saves a key."""


class Keyring(Protocol):
    """The system keyring; `system_keyring` documents the exceptions."""

    def get(self, provider: str) -> str | None:
        """Return the key of a provider, or None."""
        ...

    def set(self, provider: str, key: str) -> str:
        """Save a key and return the keyring's name."""
        ...

    def delete(self, provider: str) -> None:
        """Remove a key."""
        ...


Stamp = tuple[int, int, int]
Entries = dict[str, dict[str, str]]


class _Failed(Struct, frozen=True):
    """A failed query of the keyring."""

    at_s: float


class KeyStore:
    """The saved keys of one user. Several daemons and commands may use it at the same time. Its methods block.

    `get` and `refresh` raise nothing: failures are listed in `problems`.
    """

    def __init__(self, folder: Path, keyring: Keyring, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._keyring = keyring
        self._clock = clock
        self._lock = threading.RLock()
        """Guards the state in memory; held only while a file is read or written."""
        self._asking = threading.Lock()
        """Held while the keyring is read, which may take seconds; always acquired before `_lock`."""
        self._stamp: Stamp | None = None
        self._entries: Entries = {}
        self._read: dict[str, str | _Failed] = {}
        """Results of the keyring, by the entry's id."""
        self._problems: dict[str, str] = {}

    @property
    def file(self) -> Path:
        """File that records which keys exist, and stores those outside a keyring."""
        return self._folder / FILE

    @property
    def problems(self) -> tuple[str, ...]:
        """Current problems, one sentence each."""
        with self._lock:
            return tuple(dict.fromkeys(self._problems.values()))

    @property
    def version(self) -> object:
        """Value that changes when other keys are saved, as of the last read of the file."""
        return self._stamp

    @property
    def known(self) -> tuple[str, ...]:
        """The keys that were read or saved so far, for masking."""
        with self._lock:
            found = [entry["key"] for entry in self._entries.values() if "key" in entry]
            found += [each for each in self._read.values() if isinstance(each, str)]
            return tuple(each for each in dict.fromkeys(found) if len(each) >= LEAST_MASKED)

    def providers(self) -> tuple[str, ...]:
        """Return the providers with a saved key."""
        with self._lock:
            self._load()
            return tuple(self._entries)

    def get(self, provider: str) -> str | None:
        """Return the saved key of a provider, or None."""
        key_id, key = self._kept(provider)
        if not key_id:
            return key
        with self._asking:
            key_id, key = self._kept(provider)  # another thread may have read it meanwhile
            return self._from_keyring(provider, key_id) if key_id else key

    def refresh(self) -> None:
        """Read all new keys, so that `get` need not query the keyring."""
        for provider in self.providers():
            self.get(provider)

    def save(self, provider: str, key: str) -> str:
        """Save a key, replacing the provider's previous one. Returns where, as shown to the user.

        Raises `KeyringError` if a keyring exists but fails, and `KeyStoreError`.
        """
        try:
            name = self._keyring.set(provider, key)
        except NoKeyringError:
            return self.save_in_file(provider, key)
        self._put(provider, {"in": "keyring", "id": secrets.token_hex(8)}, key)
        return f"the system keyring ({name})"

    def save_in_file(self, provider: str, key: str) -> str:
        """Save a key as `save` does, but never in a keyring. Raises `KeyStoreError`."""
        self._put(provider, {"in": "file", "key": key}, key)
        return f"{self.file}, which only you can read"

    def _put(self, provider: str, entry: dict[str, str], key: str) -> None:
        with self._changing() as entries:
            entries[provider] = entry
        with self._lock:
            if "id" in entry:
                self._read[entry["id"]] = key

    def forget(self, provider: str) -> bool:
        """Remove a provider's key; return False if it has none. If `KeyStoreError` is raised, the key still exists."""
        with self._lock:
            self._load()
            entry = self._entries.get(provider)
        if entry is None:
            return False
        if entry["in"] == "keyring":
            self._keyring.delete(provider)
        with self._changing() as entries:
            entries.pop(provider, None)
        return True

    def _kept(self, provider: str) -> tuple[str, str | None]:
        """Return the id of the entry if its key must be read from the keyring, else an empty string; and the key."""
        with self._lock:
            self._load()
            entry = self._entries.get(provider)
            if entry is None or "key" in entry:
                return "", entry["key"] if entry else None
            read = self._read.get(entry["id"])
            if isinstance(read, str):
                return "", read
            has_just_failed = read is not None and self._clock() - read.at_s < RETRY_S
            return "" if has_just_failed else entry["id"], None

    def _from_keyring(self, provider: str, key_id: str) -> str | None:
        found, problem = None, f"The key for {provider} is no longer in the system keyring."
        try:
            found = self._keyring.get(provider)
        except KeyStoreError as error:
            problem = f"The saved key for {provider} cannot be read. {error}"
        with self._lock:
            self._read[key_id] = _Failed(self._clock()) if found is None else found
            self._problems.pop(key_id, None)
            if found is None:
                self._problems[key_id] = problem
        return found

    # File access

    def _load(self) -> None:
        """Read the file if it has changed."""
        stamp = _stamp_of(self.file)
        if stamp == self._stamp and stamp is not None:
            return
        self._problems.pop(FILE, None)
        try:
            self._entries = self._entries_now()
            after = _stamp_of(self.file)  # its mode may have been corrected
            self._stamp = after if stamp and after and after[:2] == stamp[:2] else stamp
        except KeyStoreError as error:
            self._problems[FILE], self._entries, self._stamp = str(error), {}, None
        ids = {entry.get("id") for entry in self._entries.values()}
        self._problems = {name: text for name, text in self._problems.items() if name == FILE or name in ids}

    def _entries_now(self) -> Entries:
        """Return the entries in the file. Raises `KeyStoreError` for a file that cannot be trusted or read."""
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from None
        try:
            self._check(os.fstat(descriptor), descriptor)
            with os.fdopen(os.dup(descriptor), "rb") as opened:
                content = opened.read(MAX_BYTES)
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from None
        finally:
            os.close(descriptor)
        try:
            stored: Any = json.loads(content)
        except (ValueError, RecursionError):
            raise self._unreadable("it is damaged") from None
        keys: Any = cast("Mapping[str, Any]", stored).get("keys") if isinstance(stored, dict) else None
        if not isinstance(keys, dict):
            raise self._unreadable("it is damaged")
        return {name: entry for name, entry in cast("Mapping[str, Any]", keys).items() if _is_entry(entry)}

    def _check(self, status: os.stat_result, descriptor: int) -> None:
        """Make a file that others can read private and report it; refuse another user's file."""
        if not stat.S_ISREG(status.st_mode):
            raise self._unreadable("it is not a regular file")
        if status.st_uid != os.geteuid():
            raise self._unreadable("it belongs to another user")
        if status.st_mode & 0o077:
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, 0o600)
            self._problems[FILE] = (
                f"Other users could read the saved keys in {self.file}. The file is now readable only by you. If "
                "others use this machine, replace the keys at your providers."
            )

    def _unreadable(self, why: str) -> KeyStoreError:
        return KeyStoreError(
            f"The saved keys in {self.file} are not used: {why}. Remove the file and run `pygent-ls setup`."
        )

    @contextlib.contextmanager
    def _changing(self) -> Generator[Entries]:
        """Yield the current entries and write them back if they change. Raises `KeyStoreError`."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._lock, _locked(self._folder / LOCK):
                entries = self._entries_now()
                before = json.dumps(entries)
                yield entries
                if json.dumps(entries) != before:
                    self._write(entries)
                self._load()
        except OSError as error:
            raise KeyStoreError(f"The keys cannot be saved in {self.file}: {error.strerror or error}.") from None

    def _write(self, entries: Entries) -> None:
        content = json.dumps({"version": VERSION, "keys": entries}, indent=2).encode()
        draft = self.file.with_name(f".{FILE}.{secrets.token_hex(8)}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(descriptor)
            draft.replace(self.file)
        finally:
            draft.unlink(missing_ok=True)


def _stamp_of(file: Path) -> Stamp | None:
    try:
        status = file.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_mode


def _is_entry(given: object) -> bool:
    if not isinstance(given, dict):
        return False
    entry = cast("dict[object, object]", given)
    needed = "id" if entry.get("in") == "keyring" else "key"
    return entry.get("in") in {"keyring", "file"} and isinstance(entry.get(needed), str)


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold the lock. Raises OSError; `TimeoutError` if another process does not release it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + LOCK_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TimeoutError("another process is saving a key") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)
