"""Programs that run a given command: `sudo`, `env`, `xargs`, `find -exec`, `bash -c` and similar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from pygent_ls.shell.programs.arguments import split, syntax
from pygent_ls.shell.programs.find import end_of_command
from pygent_ls.shell.programs.system_programs import ALIASES, PROGRAMS, WRAPPERS
from pygent_ls.shell.programs.toolchains import SUBCOMMANDS
from pygent_ls.shell.words import ANY

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "csh", "tcsh"})


class WrappedWords(Struct, frozen=True, kw_only=True):
    """A command in the wrapper's own words, from `begin` to `end`."""

    begin: int
    end: int


class WrappedScript(Struct, frozen=True, kw_only=True):
    """A command line passed to the wrapper as one text."""

    text: str


Wrapped = WrappedWords | WrappedScript


_POSITIONALS = {"chrt": 1, "taskset": 1, "timeout": 1, "chroot": 1, "gosu": 1, "su-exec": 1}
"""Number of words between the options and the command."""

_ASSIGNING = frozenset({"sudo", "doas", "env", "time"})
"""Programs that accept variable assignments before the command."""

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})


def name_of(words: Sequence[str]) -> str:
    """Return the program's name without its folder."""
    return words[0].rpartition("/")[2] if words else ""


def wrapped(words: Sequence[str]) -> Iterator[Wrapped]:
    """Yield the commands that this one would run, as far as its own words show them."""
    name = name_of(words)
    known = ALIASES.get(name, name)
    if known in WRAPPERS:
        yield from _after_prefix(known, words)
    elif name in SHELLS:
        yield from _script(words, "c")
    elif reader := _READERS.get(name):
        yield from reader(words)
    elif ANY in name and name.strip(ANY) and len(words) > 1 and _could_run_others(name):
        yield WrappedWords(begin=1, end=len(words))
        yield WrappedScript(text=" ".join(words[1:]))
        yield from _script(words, "c")


def _could_run_others(name: str) -> bool:
    """Whether a name that is known only at run time may be one of these programs: `"$X"eval`."""
    pattern = re.sub(r"[*?\[]", r"[\g<0>]", name).replace(ANY, "*")
    return any(fnmatchcase(each, pattern) for each in (*WRAPPERS, *SHELLS, *_READERS))


def _after_prefix(name: str, words: Sequence[str]) -> Iterator[Wrapped]:
    if name == "env":
        yield from _split_string(words)
    if name == "npx":
        yield from _script(words, "c")
    plain = _plain(words, name)
    while name == "time" and plain and words[plain[0]] == "!":
        plain = plain[1:]
    while name in _ASSIGNING and plain and re.match(r"\w+=", words[plain[0]]):
        plain = plain[1:]
    plain = plain[_POSITIONALS.get(name, 0) :]
    if plain:
        yield WrappedWords(begin=plain[0], end=len(words))
    if name in ("parallel", "unbuffer", "firejail") and plain:
        yield WrappedScript(text=" ".join(words[plain[0] :]))


def _plain(words: Sequence[str], name: str) -> list[int]:
    """Return the indices of the words that are neither options nor their values."""
    return split(words, syntax(PROGRAMS[name])).plain


def _split_string(words: Sequence[str]) -> Iterator[WrappedScript]:
    for index, word in enumerate(words[1:], 1):
        if word in ("-S", "--split-string"):
            yield WrappedScript(text=" ".join(words[index + 1 :]))
        elif found := re.match(r"-[a-z]*S(.+)|--split-string=(.*)", word, re.DOTALL):
            yield WrappedScript(text=" ".join([found[1] or found[2], *words[index + 1 :]]))


def _script(words: Sequence[str], letter: str) -> Iterator[WrappedScript]:
    """Yield the text after `-c`, which may be joined with other letters: `-lc`."""
    for index, word in enumerate(words[1:-1], 1):
        if re.fullmatch(rf"[-+][A-Za-z]*{letter}[A-Za-z]*", word) or word == "--command":
            rest = [each for each in words[index + 1 :] if not each.startswith(("-", "+"))]
            yield WrappedScript(text=rest[0] if rest else ANY)
            return


def _su(words: Sequence[str]) -> Iterator[Wrapped]:
    yield from _script(words, "c")
    yield from _after_dashes(words)


def _eval(words: Sequence[str]) -> Iterator[WrappedScript]:
    if len(words) > 1:
        yield WrappedScript(text=" ".join(word for word in words[1:] if word != "--"))


def _trap(words: Sequence[str]) -> Iterator[WrappedScript]:
    if len(words) > 2:
        yield WrappedScript(text=words[2] if words[1] == "--" else words[1])


def _find(words: Sequence[str]) -> Iterator[WrappedWords]:
    for index, word in enumerate(words):
        if word in _FIND_RUNS and index + 1 < len(words):
            yield WrappedWords(begin=index + 1, end=end_of_command(words, index + 1))


def _ssh(words: Sequence[str]) -> Iterator[WrappedScript]:
    if command := _plain(words, "ssh")[1:]:
        yield WrappedScript(text=" ".join(words[at] for at in command))


def _flock(words: Sequence[str]) -> Iterator[Wrapped]:
    yield from _script(words, "c")
    command = _plain(words, "flock")[1:]
    if command and words[command[0]] not in ("-c", "--command"):
        yield WrappedWords(begin=command[0], end=len(words))


def _watch(words: Sequence[str]) -> Iterator[WrappedScript]:
    if command := _plain(words, name_of(words)):
        yield WrappedScript(text=" ".join(words[command[0] :]))


def _after_dashes(words: Sequence[str]) -> Iterator[WrappedWords]:
    if "--" in words[:-1]:
        yield WrappedWords(begin=words.index("--") + 1, end=len(words))


def _npm(words: Sequence[str]) -> Iterator[WrappedWords]:
    """Yield the command of `npm exec -- COMMAND`; the dashes of `npm test` precede a project script's arguments."""
    if words[1:2] and words[1] in ("exec", "x", "dlx"):
        yield from _runner(words)
    elif len(words) < 2 or words[1] not in ("test", "t", "run", "run-script", "start"):
        yield from _after_dashes(words)


def _runner(words: Sequence[str]) -> Iterator[WrappedWords]:
    """Yield the command of `uv run COMMAND` or `bundle exec COMMAND`."""
    table = SUBCOMMANDS[ALIASES.get(name_of(words), name_of(words))]
    how = table.get("".join(words[1:2]), "")
    if words[1:2] and words[1] in ("run", "exec", "x", "dlx") and (plain := split(words, syntax(f"{how} @1"), 2).plain):
        yield WrappedWords(begin=plain[0], end=len(words))


_READERS: Mapping[str, Callable[[Sequence[str]], Iterator[Wrapped]]] = {
    "eval": _eval,
    "trap": _trap,
    "find": _find,
    "gfind": _find,
    "fd": _find,
    "fdfind": _find,
    "ssh": _ssh,
    "su": _su,
    "runuser": _su,
    "sg": _su,
    "script": _su,
    "flock": _flock,
    "watch": _watch,
    "entr": _watch,
    "kubectl": _after_dashes,
    "npm": _npm,
    "pnpm": _npm,
    "yarn": _npm,
    **dict.fromkeys(["bundle", "pipenv", "poetry", "rye", "uv"], _runner),
}
