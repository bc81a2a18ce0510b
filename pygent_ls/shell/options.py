"""Check whether a command does more than the rule that allows it says: runs programs, writes files, or loads settings.

Programs that can are known by tables of their safe options (`programs`). An option missing there is not covered, in any
spelling; a rule that names the option itself covers it. A rule for a program without a table, such as the user's own,
covers every word except the few by which programs are commonly made to run others (`_GENERIC`). A rule that names a
program by its path, or an interpreter, covers every word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from pygent_ls.shell.programs import awk, find, git, sed
from pygent_ls.shell.programs.arguments import Arguments, Syntax, split, syntax
from pygent_ls.shell.programs.system_programs import ALIASES, PROGRAMS, VALUES
from pygent_ls.shell.programs.toolchains import RUNNERS, SUBCOMMANDS
from pygent_ls.shell.words import ANY

_COMMANDS: Mapping[str, Mapping[str, str]] = {**SUBCOMMANDS, "git": {"": git.GLOBAL, **git.COMMANDS}}

_EVALUATING = frozenset(
    {"test", "[", "read", "unset", "let", "mapfile", "readarray", "getopts", "wait", "printf", "declare", "typeset"}
    | {"local", "export", "readonly"}
)
"""Shell builtins that run code in the index of a name: `read 'a[$(x)]'`."""

_INTERPRETERS = frozenset(
    {"bash", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php", "python", "ruby", "sh", "tclsh", "zsh"}
)

_GENERIC = re.compile(
    r"--?(exec(ute)?(-\w+)?|eval(uate)?|pre|preload|pager|editor|plugins?|require|rulesdir|import|(experimental-)?loader"
    r"|load(-extension|-plugins)?|init-(script|hook)|javaagent|wrapper|f(pass-)?plugin|specs|toolexec|shell-escape"
    r"|to-command|use-compress-program|post-renderer|python-?path|python-executable|run_under)([=:].*)?"
    r"|-D(jvm|argLine|exec\.|maven\.ext\.).*",  # Maven's
    re.DOTALL,
)
"""Words by which programs of many kinds are made to run or load another."""

_COMPILERS = re.compile(r"(.*-)?(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|javac|ld|rustc)(-[\d.]+)?")
_OF_COMPILERS = re.compile(r"@.*|-B.*", re.DOTALL)
"""Words by which compilers read options from a file, or load their parts from elsewhere."""

_NO_DASHED_VALUES = frozenset({*RUNNERS, "bun", "cargo", "npm", "pnpm", "uv", "yarn"})
"""Programs some of which parse a word that begins with a dash as an option even in place of a value."""

_ONLY_WITH_COMMAND = frozenset(
    {"parallel", "unshare", "nsenter", "fakeroot", "firejail", "su", "script", "chroot", "systemd-run", "xvfb-run"}
)
"""Programs that run their input if no command follows."""

_AFTER_DASHES = (
    r"--(nocapture|no-capture|ignored|include-ignored|exact|list|show-output|quiet|check|skip|test-threads)(=.*)?"
    r"|-q|-[DWAF]\S*|[^-@].*"
)
"""Words for the program that cargo runs: the test harness, clippy, rustfmt."""

MAX_WORD_CHARS = 2_000
"""Maximum length of a word that is examined for a program with a table; a longer one may hold anything."""


def does_more(words: Sequence[str], n_named: int, name: str) -> bool:
    """Whether the words after the first `n_named` make the program `name` do more than its name says."""
    if name.startswith("python") and words[1:2] == ("-m",) and n_named > 2:
        return does_more(words[2:], n_named - 2, words[2])
    known, more = canonical(name), words[n_named:]
    if known in _EVALUATING and any(re.search(r"\$[({]|`", word) for word in more):
        return True
    if known == "printf" and n_named == 1 and more and re.match(rf"-v|{ANY}", more[0]):
        return True
    if known in PROGRAMS or known in _COMMANDS:
        return any(len(word) > MAX_WORD_CHARS for word in more) or _unlisted(words, n_named, known)
    is_own = "/" in words[0] or known in _INTERPRETERS or known.startswith("python")
    if not is_own and _COMPILERS.fullmatch(known) and any(_OF_COMPILERS.fullmatch(word) for word in more):
        return True
    return not is_own and any(_GENERIC.fullmatch(word) for word in more)


def _unlisted(words: Sequence[str], n_named: int, name: str) -> bool:
    if name == "find":
        return any(index >= n_named for index in find.unknown_in(words))
    if name in _COMMANDS:
        return _subcommand_does_more(words, n_named, name)
    how = syntax(PROGRAMS[name])
    if name in _ONLY_WITH_COMMAND and len(split(words, how).plain) <= (name in ("su", "chroot")):
        return True
    return _listed(words, n_named, name, how)


def canonical(name: str) -> str:
    """Return the name under which a program's options are listed."""
    return ALIASES.get(name, name)


def _listed(words: Sequence[str], n_named: int, name: str, how: Syntax, begin: int = 1, path: str = "") -> bool:
    """Whether any word from `n_named` on is not listed as safe; `path` is the subcommand of the program."""
    given = split(words, how, begin)
    extra = [] if how.most_plain is None else given.plain[how.most_plain :]
    if any(index >= n_named for index in (*given.unknown, *extra)):
        return True
    allowed = VALUES.get(name, {})
    for option in given.options:
        pattern = allowed.get(option.name)
        if option.index >= n_named and option.name in how.unsafe:
            return True
        is_dashed = option.last > option.index and (option.value or "").startswith("-")
        if option.last >= n_named and is_dashed and name in _NO_DASHED_VALUES:
            return True
        if option.last >= n_named and pattern and not re.fullmatch(pattern, option.value or "", re.DOTALL):
            return True
    check = _CHECKS.get(f"{name} {path}".strip())
    return check is not None and any(index >= n_named for index in check(words, given))


# Programs with subcommands


def _subcommand_does_more(words: Sequence[str], n_named: int, name: str) -> bool:
    commands = _COMMANDS[name]
    path, begin = "", 1
    while not path or any(each.startswith(path + " ") for each in commands):
        how = replace(syntax(commands.get(path, "")), stops_at=1, most_plain=None)
        plain = split(words, how, begin).plain
        if not plain:
            break
        position = plain[0]
        if _listed(words[: position + 1], n_named, name, how, begin):
            return True
        begin = position + 1
        if name == "cargo" and words[position].startswith("+"):  # the toolchain
            if position >= n_named:
                return True
            continue
        inner = f"{path} {words[position]}".strip()
        if inner not in commands and not any(each.startswith(inner + " ") for each in commands):
            if path or "*" not in commands:
                return position >= n_named
            inner = "*"
        path = inner
    how = syntax(commands.get(path, ""))
    return (how.is_named and begin > n_named) or _listed(words, n_named, name, how, begin, path)


# Checks of the other words, by program

_Check = Callable[[Sequence[str], Arguments], Iterable[int]]


def _scripts_of_sed(words: Sequence[str], given: Arguments) -> Iterable[int]:
    options = [each for each in given.options if each.name in ("-e", "--expression")]
    yield from (each.last for each in options if not sed.is_plain(each.value or ""))
    if any(each.name in ("-f", "--file") for each in given.options):
        return
    # if options end at the first other word, that word is the script even if `-e` follows
    first = [index for index in given.plain[:1] if not options or index < options[0].index]
    yield from (index for index in first if not sed.is_plain(words[index]))


def _program_of_awk(words: Sequence[str], given: Arguments) -> Iterable[int]:
    if not any(each.name in ("-f", "--file") for each in given.options):
        yield from (index for index in given.plain[:1] if not awk.is_plain(words[index]))
    yield from (index for index in given.plain if words[index].startswith("/inet"))  # a network connection


def _plain_unlike(pattern: str, begin: int = 0, end: int | None = None) -> _Check:
    """Return a check that reports the plain words in a range unless they match."""
    compiled = re.compile(pattern, re.DOTALL)
    return lambda words, given: [at for at in given.plain[begin:end] if not compiled.fullmatch(words[at])]


def _filter_of(pattern: str, *commands: str) -> _Check:
    """Return a check that reports the first plain word after any of the commands if it matches the pattern."""

    def check(words: Sequence[str], given: Arguments) -> Iterable[int]:
        has_command = "".join(words[at] for at in given.plain[:1]) in commands
        return [at for at in given.plain[has_command : has_command + 1] if re.search(pattern, words[at])]

    return check


def _any_like(pattern: str) -> _Check:
    """Return a check that reports all matching words, including values of options."""
    compiled = re.compile(pattern, re.DOTALL)
    return lambda words, given: [at for at, word in enumerate(words) if at and compiled.fullmatch(word)]


def _only_with(*options: str, n_plain: int = 0) -> _Check:
    """Return a check for programs that otherwise obey what they read from their input."""

    def check(words: Sequence[str], given: Arguments) -> Iterable[int]:
        is_given = any(each.name in options for each in given.options) or bool(given.unknown)
        return [] if is_given or (n_plain and len(given.plain) >= n_plain) else [len(words)]

    return check


def _sqlite(words: Sequence[str], given: Arguments) -> Iterable[int]:
    query = r"(?i)\s*select\s[^()\\;]*;?\s*"
    return [*_only_with("-version", n_plain=2)(words, given), *_plain_unlike(query, 1)(words, given)]


def _openssl(words: Sequence[str], given: Arguments) -> Iterable[int]:
    commands = r"version|x509|s_client|dgst|rand|verify|crl|ciphers|list|asn1parse|pkey|rsa|ec"
    return [*_only_with(n_plain=1)(words, given), *_plain_unlike(commands, 0, 1)(words, given)]


def _remotes_of_git(words: Sequence[str], given: Arguments) -> Iterable[int]:
    return [at for at in given.plain if "::" in words[at] or words[at].startswith("-")]


def _ip(words: Sequence[str], given: Arguments) -> Iterable[int]:
    objects = r"a|addr|address|l|link|r|ro|route|rule|n|neigh|maddr|netns"
    return [
        *_plain_unlike(objects, 0, 1)(words, given),
        *_plain_unlike("s|sh|show|l|ls|lst|list|get", 1, 2)(words, given),
    ]


_NOT_A_LIST = _plain_unlike(r"[^@].*|")
_SCRIPTED = ("run", "run-script", "rum", "urn", "test", "t", "tst", "start", "stop", "restart")
"""Commands that pass words on to a script of the project."""

_GENERIC_WORDS = _any_like(_GENERIC.pattern)
_EVALUATIONS = ("e", "ea", "eval", "eval-all")
_NO_OPTION = r"[^-].*"

_CHECKS: Mapping[str, _Check] = {
    **dict.fromkeys(RUNNERS, _NOT_A_LIST),
    **dict.fromkeys(["mypy", "pytest", "ruff"], _any_like("@.*")),  # a list, wherever it occurs
    **dict.fromkeys(["env", "sudo", "doas", "time"], _plain_unlike(r"[^=]*", 0, 1)),
    "awk": _program_of_awk,
    **{f"cargo {each}": _plain_unlike(_AFTER_DASHES) for each in SUBCOMMANDS["cargo"] if each not in ("run", "r")},
    "curl": _plain_unlike(r"(https?://|[\w.-]+(:\d+)?(/|$)).*"),
    "date": _plain_unlike(r"\+.*"),
    "dd": _plain_unlike(r"(if|bs|ibs|obs|cbs|count|skip|status|conv|iflag)=.*"),
    **{f"git {each}": _remotes_of_git for each in ("clone", "fetch", "ls-remote", "pull", "push", "remote")},
    "git config": lambda _, given: given.plain[1:],  # a name and its new value
    "expect": _only_with("-v", "--version"),
    "gdb": _only_with("-v", "--version", "-h", "--help"),
    "gpg": _only_with("-k", "-K", "--list-keys", "--list-secret-keys", "--verify", "--fingerprint", "--version"),
    "ip": _ip,
    "jq": _filter_of(r"(?<![.\w])(env|import|include|modulemeta|get_search_list)\b|\bENV\b"),
    "less": _plain_unlike(r"[^+].*"),
    **{f"npm {each}": _GENERIC_WORDS for each in _SCRIPTED},
    **{f"pnpm {each}": _GENERIC_WORDS for each in (*_SCRIPTED, "*")},
    "yarn *": _GENERIC_WORDS,
    "make": _plain_unlike(r"[^=]*|(V|VERBOSE|DEBUG)=[01]"),
    **dict.fromkeys(["dc", "gnuplot", "m4", "mysql"], _only_with("-V", "--version")),
    "openssl": _openssl,
    "parallel": _any_like(r".*\{[^{}]*=.*|--"),  # Perl; and several commands in the version of moreutils
    "psql": _only_with("-l", "--list", "-V", "--version"),
    "rsync": _plain_unlike(r"(?![^/]*@-)[^-].*"),
    "scp": _plain_unlike(_NO_OPTION),
    "sed": _scripts_of_sed,
    "sqlite3": _sqlite,
    "ssh": _plain_unlike(_NO_OPTION, 0, 2),
    "vi": _only_with("--version"),
    "yq": _filter_of(
        r"(?<![.\w])(env|strenv|envsubst|load\w*|system|eval|input_filename|import|include)\b|\bENV\b", *_EVALUATIONS
    ),
}


# Words filled in when the command runs


def filled(outer: Sequence[str], words: Sequence[str], name: str) -> tuple[str, ...]:
    """Return the words of a command that `outer` runs, including those that it inserts and appends."""
    name = canonical(name)
    if name == "find":
        return tuple(word.replace("{}", f"./{ANY}") for word in words)
    if name == "fd":
        return (*(re.sub(r"\{(//?|/?\.)?\}", ANY, word) for word in words), ANY)
    if name not in ("xargs", "parallel"):
        return tuple(words)
    options = split(outer, syntax(PROGRAMS[name])).options
    marks = [each.value for each in options if each.name == "-I" and each.value]
    for mark in [*marks, "{}"]:
        words = [word.replace(mark, ANY) for word in words]
    return (*words, ANY, ANY)  # several words: the first may be a pattern, the others files
