"""Programs that run the command that they are given: `sudo`, `env`, `xargs`, `find -exec`, `bash -c` and their like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pygent_ls.shell.words import ANY

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "csh", "tcsh"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A command that stands in the wrapper's own words, from `begin` to `end`."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A command line that the wrapper is given as one text."""

    text: str


Wrapped = Words | Script


@dataclass(frozen=True, slots=True)
class _Prefix:
    """`NAME [options] [positionals] COMMAND…`"""

    with_value: str = ""
    """The options that take the next word, separated by spaces."""
    positionals: int = 0
    takes_assignments: bool = False


_PREFIXES: Mapping[str, _Prefix] = {
    "sudo": _Prefix(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot", takes_assignments=True
    ),
    "doas": _Prefix("-u -C -a"),
    "pkexec": _Prefix("--user"),
    "env": _Prefix("-u -C --unset --chdir", takes_assignments=True),
    "nohup": _Prefix(),
    "setsid": _Prefix(),
    "time": _Prefix("-f -o --format --output", takes_assignments=True),
    "command": _Prefix(),
    "builtin": _Prefix(),
    "exec": _Prefix("-a"),
    "coproc": _Prefix(),
    "nice": _Prefix("-n --adjustment"),
    "ionice": _Prefix("-c -n --class --classdata"),
    "chrt": _Prefix("-T -P -D", 1),
    "taskset": _Prefix("", 1),
    "timeout": _Prefix("-k -s --kill-after --signal", 1),
    "gtimeout": _Prefix("-k -s --kill-after --signal", 1),
    "stdbuf": _Prefix("-i -o -e --input --output --error"),
    "unbuffer": _Prefix(),
    "xargs": _Prefix("-I -n -P -L -d -E -s -a --max-args --max-procs --delimiter --arg-file --replace --max-lines"),
    "parallel": _Prefix("-j --jobs -a --arg-file -I -n -N -S --joblog --delay --timeout"),
    "strace": _Prefix("-o -e -p -s -u -a -E -P"),
    "ltrace": _Prefix("-o -e -p -s -u -a -n"),
    "chroot": _Prefix("", 1),
    "unshare": _Prefix("-S -G -R -w --root --wd"),
    "nsenter": _Prefix("-t -S -G --target"),
    "systemd-run": _Prefix("-p -u -t -M --unit --property --uid --gid"),
    "busybox": _Prefix(),
    "toybox": _Prefix(),
    "fakeroot": _Prefix(),
    "firejail": _Prefix(),
    "gosu": _Prefix("", 1),
    "su-exec": _Prefix("", 1),
    "setpriv": _Prefix(),
    "caffeinate": _Prefix("-t -w"),
    "dbus-run-session": _Prefix(),
    "xvfb-run": _Prefix("-n -s -e -f -p"),
    "noglob": _Prefix(),
    "nocorrect": _Prefix(),
}

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})


def name_of(words: Sequence[str]) -> str:
    """The program's name without its folder."""
    return words[0].rpartition("/")[2] if words else ""


def wrapped(words: Sequence[str]) -> Iterator[Wrapped]:
    """The commands that this one would run, as far as its own words show them."""
    name = name_of(words)
    if name in _PREFIXES:
        yield from _after_prefix(name, words)
    elif name in SHELLS:
        yield from _script(words, "c")
    elif reader := _READERS.get(name):
        yield from reader(words)
    elif ANY in name and name.strip(ANY) and len(words) > 1 and _could_run_others(name):
        yield Words(begin=1, end=len(words))
        yield Script(text=" ".join(words[1:]))


def _could_run_others(name: str) -> bool:
    """Whether a name that only running would tell may be one of these programs: `"$X"eval`."""
    pattern = re.sub(r"[*?\[]", r"[\g<0>]", name).replace(ANY, "*")
    return any(fnmatchcase(each, pattern) for each in (*_PREFIXES, *SHELLS, *_READERS))


def _after_prefix(name: str, words: Sequence[str]) -> Iterator[Wrapped]:
    prefix = _PREFIXES[name]
    if name == "env":
        yield from _split_string(words)
    position = _after_options(words, frozenset(prefix.with_value.split()))
    while name == "time" and list(words[position : position + 1]) == ["!"]:
        position += 1
    while prefix.takes_assignments and position < len(words) and re.match(r"\w+=", words[position]):
        position += 1
    position += prefix.positionals
    if position < len(words):
        yield Words(begin=position, end=len(words))
    if name in ("parallel", "unbuffer", "firejail") and position < len(words):
        yield Script(text=" ".join(words[position:]))


def _after_options(words: Sequence[str], with_value: frozenset[str]) -> int:
    """Where the first word stands that is no option and no option's value."""
    position = 1
    while position < len(words) and words[position].startswith("-"):
        if words[position] == "--":
            return position + 1
        position += 2 if words[position] in with_value else 1
    return position


def _split_string(words: Sequence[str]) -> Iterator[Script]:
    for index, word in enumerate(words[1:], 1):
        if word in ("-S", "--split-string"):
            yield Script(text=" ".join(words[index + 1 :]))
        elif found := re.match(r"-[a-z]*S(.+)|--split-string=(.*)", word, re.DOTALL):
            yield Script(text=" ".join([found[1] or found[2], *words[index + 1 :]]))


def _script(words: Sequence[str], letter: str) -> Iterator[Script]:
    """The text after `-c`, which may stand among other letters: `-lc`."""
    for index, word in enumerate(words[1:-1], 1):
        if re.fullmatch(rf"[-+][A-Za-z]*{letter}[A-Za-z]*", word) or word == "--command":
            rest = [each for each in words[index + 1 :] if not each.startswith(("-", "+"))]
            yield Script(text=rest[0] if rest else ANY)
            return


def _su(words: Sequence[str]) -> Iterator[Wrapped]:
    yield from _script(words, "c")
    yield from _after_dashes(words)


def _eval(words: Sequence[str]) -> Iterator[Script]:
    if len(words) > 1:
        yield Script(text=" ".join(word for word in words[1:] if word != "--"))


def _trap(words: Sequence[str]) -> Iterator[Script]:
    if len(words) > 2:
        yield Script(text=words[2] if words[1] == "--" else words[1])


def _find(words: Sequence[str]) -> Iterator[Words]:
    for index, word in enumerate(words):
        if word in _FIND_RUNS and index + 1 < len(words):
            ends = [at for at in range(index + 1, len(words)) if words[at] in (";", "+")]
            yield Words(begin=index + 1, end=ends[0] if ends else len(words))


def _ssh(words: Sequence[str]) -> Iterator[Script]:
    position = _after_options(words, frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOopQRSWw")) + 1
    if position < len(words):
        yield Script(text=" ".join(words[position:]))


def _flock(words: Sequence[str]) -> Iterator[Wrapped]:
    yield from _script(words, "c")
    position = _after_options(words, frozenset({"-w", "-E", "--timeout", "--wait"})) + 1
    if position < len(words) and words[position] not in ("-c", "--command"):
        yield Words(begin=position, end=len(words))


def _watch(words: Sequence[str]) -> Iterator[Script]:
    position = _after_options(words, frozenset({"-n", "--interval"}))
    if position < len(words):
        yield Script(text=" ".join(words[position:]))


def _after_dashes(words: Sequence[str]) -> Iterator[Words]:
    if "--" in words[:-1]:
        yield Words(begin=words.index("--") + 1, end=len(words))


def _npm(words: Sequence[str]) -> Iterator[Words]:
    """`npm exec -- COMMAND`; behind the dashes of `npm test` stand arguments for the project's own script."""
    if len(words) < 2 or words[1] not in ("test", "t", "run", "run-script", "start"):
        yield from _after_dashes(words)


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
    "npx": _after_dashes,
    "npm": _npm,
}
