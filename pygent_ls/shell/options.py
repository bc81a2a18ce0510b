"""Words that make a program which is allowed for one thing do another: run programs, write files, read what others set.

A rule that names such a word itself covers it. The words are those by which other agents' lists of harmless commands
were got round. Long options count in every abbreviation: GNU programs and git take `--comp` for `--compress-program`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from pygent_ls.shell.words import ANY

_LONG: Mapping[str, str] = {
    "awk": "file include load exec debug dump-variables pretty-print profile",
    "base64": "output",
    "curl": "output config upload-file remote-name remote-name-all dump-header cookie-jar output-dir netrc-file engine"
    " trace trace-ascii stderr create-dirs etag-save hsts alt-svc data-binary",
    "date": "set file",
    "fd": "exec exec-batch",
    "git": "config-env exec-path output ext-diff textconv upload-pack receive-pack open-files-in-pager exec template"
    " output-directory",
    "jq": "from-file rawfile slurpfile",
    "man": "pager html",
    "rg": "pre hostname-bin search-zip",
    "rsync": "rsh rsync-path remove-source-files delete delete-before delete-during delete-delay delete-after"
    " delete-excluded",
    "sed": "in-place file",
    "sort": "output compress-program temporary-directory",
    "tar": "to-command checkpoint-action use-compress-program rsh-command info-script new-volume-script absolute-names",
    "wget": "use-askpass output-document execute output-file append-output directory-prefix config post-file body-file",
    "zip": "unzip-command test",
}
"""By program: long options, without their dashes."""

_SED_PROGRAM = r"(-e|--expression=)?(.*[;{}\n])?\s*+([0-9,$!~+\s]|/[^/]*+/)*+[ewW](\s.*)?"
"""A program of sed that runs commands or writes files: `e` and `w`; the same of `s/…/…/e` is `_substitutes_more`."""

_WORDS: Mapping[str, str] = {
    "awk": r"(?s:.*)(system|getline|print.*[|>]|@\s*(load|include|namespace|\w+\s*\())(?s:.*)|-[fiElopdDW].*",
    "base64": r"-o.*",
    "curl": r"-[a-zA-Z]*[oOKTDc].*",
    "date": r"-[uR]*[sf].*",
    "fd": r"-[xX].*",
    "find": r"-delete|-fprint0?|-fprintf|-fls|-files0-from",
    "git": r"-x|-[a-zA-Z]*O.*|ext::.*",
    "go": r"-toolexec(=.*)?|-exec(=.*)?|-vettool(=.*)?",
    "jq": r"-[a-zA-Z]*[fL].*|(?s:.*)((?<![.\w])env\b|\$ENV\b|(?<![.\w])(import|include)\b)(?s:.*)",
    "less": r"-[oOk].*|\+.*",
    "man": r"-[PHC].*",
    "printf": r"-v.*",
    "rg": r"-[a-zA-Z]*z",
    "rsync": r"-[a-zA-Z]*e.*",
    "sed": rf"-[a-zA-Z]*[if].*|{_SED_PROGRAM}",
    "sort": r"-[a-zA-Z]*[oT].*",
    "ssh": r"-[oFE].*",
    "tar": r"-[a-zA-Z]*[IFP].*",
    "tree": r"-o.*",
    "wget": r"-[a-zA-Z]*[OPoei].*",
    "xxd": r"-r.*",
    "zip": r"-TT?.*",
}
"""By program: every other word, as a regular expression for the whole of it."""

_ALSO: Mapping[str, str] = {"gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "gfind": "find", "fdfind": "fd"}
"""Programs that take another one's words."""

_EVALUATING = frozenset(
    {"test", "[", "read", "unset", "let", "mapfile", "readarray", "getopts", "wait", "printf", "declare", "typeset"}
    | {"local", "export", "readonly"}
)
"""Parts of the shell that run what stands in the index of a name: `read 'a[$(x)]'`."""

MAX_WORD_CHARS = 2_000
"""Of a word that is looked through; a longer one may hold anything."""

MIN_LONG_CHARS = 2
"""Of an abbreviation of a long option that counts: with fewer it is ambiguous to every program here."""


def does_more(words: Sequence[str], n_named: int, name: str) -> bool:
    """Whether the words behind the first `n_named` make the program `name` do more than its name says."""
    name = _ALSO.get(name, name)
    more = words[n_named:]
    if name == "env" and any(_sets_or_leaves(word) for word in _before_the_program(more)):
        return True
    if name == "git" and n_named == 1 and more and more[0].startswith("-"):
        return True  # settings, which can name programs to run, stand before what git is to do
    if name in _EVALUATING and any(re.search(r"\$[({]|`", word) for word in more):
        return True
    if name == "tar" and more and re.fullmatch(r"[a-zA-Z]*[IFP][a-zA-Z]*", more[0]):
        return True  # letters without a dash stand first
    pattern = _pattern(name)
    return pattern is not None and any(
        len(word) > MAX_WORD_CHARS
        or word.startswith(ANY)
        or _is_long(name, word)
        or pattern.fullmatch(word)
        or (name == "sed" and _substitutes_more(word))
        for word in more
    )


def _substitutes_more(word: str) -> bool:
    """Whether a program of sed may hold an `s/…/…/` whose flags run a command or write a file."""
    for mark in dict.fromkeys(re.findall(r"(?<=s).", word, re.DOTALL)):
        _, _, rest = word.partition("s" + mark)
        _, _, rest = rest.partition(mark)
        if re.search(rf"{re.escape(mark)}[a-zA-Z0-9]*[ew]", rest):
            return True
    return False


def _before_the_program(words: Sequence[str]) -> Sequence[str]:
    end = next((at for at, word in enumerate(words) if not word.startswith("-") and "=" not in word), len(words))
    return words[:end]


def _sets_or_leaves(word: str) -> bool:
    """A variable can make any program run another, and so can a folder; both ask without `env`, too."""
    return re.match(r"-[a-zA-Z]*C|--ch", word) is not None or not word.startswith("-")


@cache
def _pattern(name: str) -> re.Pattern[str] | None:
    if name not in _WORDS and name not in _LONG:
        return None
    return re.compile(_WORDS.get(name, "(?!)"), re.DOTALL)


def _is_long(name: str, word: str) -> bool:
    given = word[2:].partition("=")[0] if word.startswith("--") else ""
    return len(given) >= MIN_LONG_CHARS and any(each.startswith(given) for each in _LONG.get(name, "").split())
