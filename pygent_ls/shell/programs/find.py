"""Expressions of find that only search and print, from the manual pages of GNU findutils 4.9 and of macOS."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.shell.words import ANY

_OPTIONS = frozenset({"-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3", "-E", "-X", "-x", "-s", "-d"})

_ALONE_TEXT = (
    "-print -print0 -ls -prune -quit -empty -true -false -readable -writable -executable -nouser -nogroup -depth -d"
    " -xdev -mount -x -follow -daystart -noleaf -ignore_readdir_race -noignore_readdir_race -not -a -and -o -or"
    " -warn -nowarn ( ) ! ,"
)
_WITH_VALUE_TEXT = (
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime -mmin"
    " -ctime -cmin -atime -amin -newer -anewer -cnewer -perm -user -group -uid -gid -links -inum -samefile -maxdepth"
    " -mindepth -regextype -fstype -printf -used -context"
)
_ALONE, _WITH_VALUE = frozenset(_ALONE_TEXT.split()), frozenset(_WITH_VALUE_TEXT.split())
_RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def end_of_command(words: Sequence[str], begin: int) -> int:
    """Return the index of the `;` or `+` that ends the command beginning at `begin`; the number of words if none does.

    A `+` ends it only after `{}`: elsewhere it is a word of the command.
    """
    ends = (at for at in range(begin, len(words)) if words[at] == ";" or (words[at] == "+" and words[at - 1] == "{}"))
    return next(ends, len(words))


def unknown_in(words: Sequence[str]) -> list[int]:
    """Return the indices of the words that may do more than search for files and print results.

    The commands after `-exec` are not included: they are checked separately.
    """
    found: list[int] = []
    position = 1
    while position < len(words) and words[position] in _OPTIONS:
        position += 1
    while position < len(words) and not words[position].startswith(("-", "(", "!", ",", ANY)):
        position += 1
    while position < len(words):
        word = words[position]
        if word in _RUNNING:
            position = end_of_command(words, position + 1)
            if word.startswith("-ok") and words[position : position + 1] == ["+"]:
                found.append(position)  # programs differ in whether `+` ends the command of `-ok`
            position += 1
            continue
        is_newer = word.startswith("-newer") and len(word) == len("-newerXY") and word[6:].isalpha()
        takes_value = word in _WITH_VALUE or is_newer
        if not takes_value and word not in _ALONE:
            found.append(position)
        if takes_value and position + 1 < len(words) and words[position + 1].startswith(ANY):
            found.append(position + 1)
        position += 2 if takes_value else 1
    return found
