"""Script that runs a command over there, and ends it with all its processes when its standard input ends."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from string import ascii_letters, digits

MARK = "PYGENT_COMMAND_PROCESS"
"""Variable in the environment of a command, by which what it has started is known."""

SCRIPT = """\
id=$1 merged=$2 input=$3 folder=$4
shift 4
exec 3<&0 5>&2 </dev/null

say() { printf '%s %s\\n' "$id" "$1" >&5; }

# Standard input: what the command reads, then nothing until the caller has gone or wants the command ended.
feed() {
    exec 2>/dev/null 5>&-
    if [ "$input" = - ]; then cat; else head -c "$input"; fi <&3
    exec >/dev/null
    while read -r _; do :; done <&3
    looks=0
    while [ "$looks" -lt 20 ] && kill -s TERM "$$"; do
        looks=$((looks + 1))
        sleep 0.1 || sleep 1
    done
}

marked() {
    for file in $(grep -l "PYGENT_COMMAND_PROCESS=$id" /proc/[0-9]*/environ 2>/dev/null); do
        file=${file#/proc/}
        printf '%s ' "${file%/environ}"
    done
}

tell() {
    kill "-$1" "-$pid" 2>/dev/null
    [ -z "$ending" ] || for each in $(marked); do kill -s "$1" "$each" 2>/dev/null; done
}

lives() {
    if [ -r /proc/self/stat ] && command -v grep >/dev/null; then
        grep -q ") [^ZX] [0-9]* $pid " /proc/[0-9]*/stat 2>/dev/null || [ -n "$ending" ] && [ -n "$(marked)" ]
    else
        kill -0 "-$pid" 2>/dev/null
    fi
}

await_end() {
    looks=0
    while lives && [ "$looks" -lt 20 ]; do
        [ -z "$1" ] || tell "$1"
        looks=$((looks + 1))
        sleep 0.1 2>/dev/null || sleep 1
    done
}

run() {
    exec 3<&-
    pid= ending=
    trap 'ending=1; [ -z "$pid" ] || tell TERM' TERM
    [ "$merged" = 0 ] || exec 2>&1
    exec 4<&0 </dev/null
    if command -v setsid >/dev/null; then
        setsid "$@" <&4 4<&- 5>&- &
    else
        set -m
        "$@" <&4 4<&- 5>&- &
        set +m
    fi
    pid=$!
    exec 4<&- 1>/dev/null 2>&1
    wait "$pid"
    code=$?
    if [ -n "$ending" ] || lives; then
        tell TERM
        await_end ''
        tell KILL
        await_end KILL
    fi
    say "ended $code"
}

cd -- "$folder" || exit 1
runner= stopped=
trap 'stopped=1; [ -z "$runner" ] || kill -s TERM "$runner" 2>/dev/null' TERM HUP INT
say started
feed | run "$@" &
runner=$!
[ -z "$stopped" ] || kill -s TERM "$runner"
while kill -0 "$runner" 2>/dev/null; do wait "$runner"; done
"""
"""The processes of a command are in a group of their own. What has left it is found by `MARK` in /proc, on Linux.

The shell that runs the script waits for `run`, and passes on the signal of `feed`, which sends it again and again: a
signal between a command of the shell and its `wait` does not interrupt that `wait`. A shell that waits for one
process of a pipeline may wait for all of them.

On standard error, lines that begin with the id tell that the command was started, and how it ended.
"""

_PLAIN = frozenset(f"{ascii_letters}{digits} _./:=,@+-".encode())


def script_argv(
    run_id: str, argv: Sequence[str], folder: str, env: Mapping[str, str], *, merged: bool, n_input: int | None
) -> tuple[str, ...]:
    """Return the command line that runs the script. `n_input` is the number of bytes of standard input that the command
    reads before its end; None for all that comes."""
    variables = [f"{name}={value}" for name, value in {**env, MARK: run_id}.items()]
    size = "-" if n_input is None else str(n_input)
    return ("sh", "-c", SCRIPT, "pygent-ls", run_id, str(int(merged)), size, folder, "env", *variables, *argv)


def for_any_shell(argv: Sequence[str]) -> str:
    """Return a line for which every login shell runs `argv`: the shell reads only letters, digits and backslashes in
    single quotes, which mean the same in sh, bash, zsh, fish and csh."""
    line = f"exec {shlex.join(argv)}".encode("utf-8", "surrogateescape")
    encoded = "".join(chr(each) if each in _PLAIN else f"\\0{each:03o}" for each in line)
    return f"""exec sh -c 'eval "$(printf %b "$0")"' '{encoded}'"""
