"""What programs show of the text of files: programs known to show none, and programs that show what they are given.

All others may show any file that their words name. The options listed here are those with which a program shows no
text, in the format of `arguments`; with any other it may.
"""

from __future__ import annotations

from collections.abc import Mapping

from pygent_ls.shell.programs.system_programs import PROGRAMS

_SUMS = "-b -t -z --binary --text --tag --zero"

_NAMES_ONLY = (
    "ls stat test [ [[ rm rmdir touch mkdir mktemp chmod chown chgrp echo printf df cd pushd popd dirs pwd basename"
    " dirname realpath readlink true false which whereis type export unset kill pkill pgrep ps sleep seq uname id"
    " whoami groups nproc uptime free tee truncate mkfifo jobs wait exit return umask ulimit tput clear tty arch"
    " eval trap sync"
)

SILENT: Mapping[str, str | None] = {
    **dict.fromkeys(_NAMES_ONLY.split()),
    **dict.fromkeys(["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"], f"{_SUMS} -l:"),
    "cksum": f"{_SUMS} -a: -l: --algorithm= --untagged",
    "du": "-0 -a -b -B: -c -D -d: -h -H -k -L -l -m -P -S -s -t: -x --all --apparent-size --block-size= --bytes --total"
    " --max-depth= --human-readable --summarize --threshold= --si --time? --separate-dirs --one-file-system --exclude=",
    "fd": PROGRAMS["fd"],
    "file": PROGRAMS["file"],
    "shasum": "-a: -b -t -U -0 --algorithm= --binary --text",
    "tree": PROGRAMS["tree"],
    "wc": "-c -m -l -L -w --bytes --chars --lines --max-line-length --words --total=",
}
"""By program: the options with which it reveals only a file's name, kind and size; None for all options."""

GREP = (
    "-E -F -G -P -i -y -v -w -x -c -l -L -n -H -h -o -q -s -Z -z -b -a -I -U -T -u -A: -B: -C: -m: -e: -0123456789"
    " --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match"
    " --word-regexp --line-regexp --count --files-with-matches --files-without-match --line-number --with-filename"
    " --no-filename --only-matching --quiet --silent --no-messages --null --null-data --byte-offset --text --binary"
    " --initial-tab --after-context= --before-context= --context= --max-count= --regexp= --color? --colour? --label="
    " --line-buffered --include= --exclude= --exclude-dir= --binary-files= !-f: !--file= !-d: !-D: !-r !-R"
    " !--directories= !--devices= !--exclude-from= !--recursive !--dereference-recursive"
)
_COPY = (
    "-f -i -n -u -v -p -T -l -s -H -L -P -x -t: -S: -b --force --interactive --no-clobber --update? --verbose"
    " --preserve?"
)
_DIFF = (
    "-u -c -q -s -y -i -w -b -B -E -Z -a -p -t -T -e -n -d -N -U: -C: -W: -I: -L: --unified? --context? --brief"
    " --report-identical-files --side-by-side --ignore-case --ignore-all-space --ignore-space-change"
    " --ignore-blank-lines"
    " --text --color? --label= --width= --suppress-common-lines --strip-trailing-cr --minimal --normal -0123456789"
)

FLAT = {
    **dict.fromkeys(["grep", "egrep", "fgrep", "zgrep"], GREP),
    **dict.fromkeys(["cp", "gcp", "scp"], _COPY),
    "diff": _DIFF,
}
"""By program: the options with which it does not enter folders below those that it is given."""

SEARCHING = frozenset(
    {
        "grep",
        "egrep",
        "fgrep",
        "zgrep",
        "rgrep",
        "ugrep",
        "ug",
        "rg",
        "ag",
        "ack",
        "sed",
        "gsed",
        "awk",
        "gawk",
        "mawk",
        "jq",
        "yq",
    }
)
"""Programs whose first word is a pattern or a program, unless an option provides it."""

PATTERN_OPTIONS = frozenset({"-e", "-f", "-E", "--regexp", "--file", "--expression", "--from-file", "--files"})
"""Options that provide the pattern, so that the first word names a file too."""

COPYING = frozenset({"cp", "gcp", "mv", "ln", "install", "rsync", "scp"})
"""Programs that copy or move files to their last word."""

SHOWING = (
    SEARCHING
    | COPYING
    | {"cat", "tac", "nl", "head", "tail", "less", "more", "most", "bat", "batcat", "view", "pr", "fold", "fmt", "cut"}
    | {"sort", "uniq", "paste", "join", "comm", "diff", "cmp", "sdiff", "rev", "shuf", "split", "csplit", "column"}
    | {"base32", "base64", "basenc", "xxd", "od", "hexdump", "hd", "strings", "iconv", "dd", "zcat", "bzcat", "diff3"}
    | {
        "xzcat",
        "gzip",
        "bzip2",
        "xz",
        "zstd",
        "tar",
        "zip",
        "7z",
        "7za",
        "7zr",
        "7zz",
        "jar",
        "pax",
        "patch",
        "source",
        ".",
        "readarray",
        "mapfile",
        "expand",
        "tsort",
    }
    | {"vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "openssl", "gpg", "unexpand", "ptx", "zmore", "zless", "cpio"}
)
"""Programs that show, copy, rename or load the files that they are given."""

RECURSIVE = frozenset(
    {"rg", "ag", "ack", "rgrep", "ugrep", "ug", "tar", "zip", "7z", "7za", "7zr", "7zz", "jar", "pax", "rsync", "mv"}
    | {"ln", "cpio"}
)
"""Programs that process everything below a given folder, or below the working directory if none is given."""

_PATCH = (
    "-p -u --patch -U --unified -W --function-context --word-diff --word-diff-regex --color-words --color-moved -c --cc"
    " -m --diff-merges -L --patch-with-stat --patch-with-raw --binary --check --inter-hunk-context --submodule"
)
_NOTHING = ""

_GIT_WITHOUT_TEXT = (
    "bisect branch check-attr check-ignore cherry cherry-pick clean clone config count-objects describe fetch gc"
    " help init ls-files ls-remote ls-tree merge merge-base name-rev prune pull push remote rev-parse revert rm"
    " show-branch show-ref switch symbolic-ref tag update-index var version"
)

GIT_SILENT = {
    "add": "-p --patch -i --interactive",
    "checkout": "-p --patch",
    "commit": "-v --verbose -p --patch",
    "fsck": "--lost-found",
    "rebase": "--show-current-patch",
    "reset": "-p --patch",
    "restore": "-p --patch",
    "stash": "-p --patch",
    "stash push": "-p --patch",
    "status": "-v --verbose",
    **dict.fromkeys(["log", "reflog", "rev-list", "shortlog", "stash list", "whatchanged"], _PATCH),
    **dict.fromkeys(_GIT_WITHOUT_TEXT.split(), _NOTHING),
    **dict.fromkeys(
        ["stash apply", "stash pop", "stash drop", "stash clear", "stash create", "stash branch"], _NOTHING
    ),
    **{f"worktree {each}": _NOTHING for each in ("list", "lock", "move", "prune", "remove", "repair", "unlock")},
    **{f"submodule {each}": _NOTHING for each in ("init", "status", "sync", "update")},
    **{f"bisect {each}": _NOTHING for each in ("start", "good", "bad", "new", "old", "skip", "log", "reset")},
}
"""By git command: the options with which it nevertheless shows text of files.

Without them, and with only options listed in `git.COMMANDS`, it shows none.
"""

_SUMMARY = (
    "--stat --numstat --shortstat --dirstat --summary --compact-summary --name-only --name-status --no-patch -s --raw"
)

GIT_SUMMARY = {
    "apply": ("--stat --numstat --summary --check", ""),
    "diff": (f"{_SUMMARY} --quiet", _PATCH),
    "show": (_SUMMARY, _PATCH),
    "stash show": (_SUMMARY, _PATCH),
    "grep": ("-l --name-only --files-with-matches -L --files-without-match -c --count -q --quiet", "-p -W -A -B -C"),
    "cat-file": ("-t -s -e", "-p --batch --batch-command"),
}
"""By git command: options one of which is required for it to show no text, and options with which it shows some."""
