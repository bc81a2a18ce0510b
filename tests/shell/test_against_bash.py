"""Judgements of command lines held against bash itself: a line that an allow rule passes runs nothing else, and one
that no deny rule stops does not run what is denied."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pygent_ls.agent.rules.matcher import Match, allows, concerns
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.shell.portability import is_portable
from pygent_ls.shell.strict_grammar import read_strictly
from pygent_ls.shell.words import ANY, HOME
from tests.shell.hidden_commands import hidden_commands

N_EXAMPLES = 10 * settings().max_examples  # lines of a few tokens of this many kinds

TOKENS = [
    *("echo", "hi", "touch", "touch z", "git status", "z", "x", "-n", "é", "0", "1", "'E'", " ", " ", " ", " ", "\t"),
    *("\n", ";", "&&", "||", "|", "&", "|&", ";;", "$(", ")", "`", "'", '"', "\\", "\\ ", "\\t", "\\;", "\\\n", "$'"),
    *(">", "<", "<<<", "<(", ">(", "&>", "2>&1", ">/dev/null", "<<E\n", "E\n", "#", "{", "}", "(", "()", "!", "! "),
    *("$X", "${X}", '"$X"', "$HOME", "$?", "$", "$\n", "${", "$((", "))", "=", "a=", "a=(", "+=", "*", "?", "[", "]"),
    *("[ ", " ]", "[[ ", " ]]", "if ", "then ", "fi", "case ", "in ", "esac", "for ", "do ", "done", "while ", "time "),
    *("function ", "f", "eval ", ",", "{a,b}", "..", "~", "%", "^", "@", "-", ":"),
    *(
        "<<-E\n",
        "<<'E'\n",
        '<<"E"\n',
        "\tE\n",
        "\nE\n",
        " # ",
        ";&",
        ";;&",
        "coproc ",
        "time -p ",
        "until ",
        "select ",
        "else ",
    ),
    *(
        "${X:-",
        "${X#",
        "${X/",
        "${!X}",
        "${X@P}",
        "$[",
        "((",
        '$"',
        "x=touch",
        "x=echo;",
        "$x z",
        "read x",
        "let ",
        "exec ",
    ),
    *(
        "<&",
        ">&",
        "2>",
        "3<&0",
        ">|",
        "<>",
        "{x}>",
        "!(",
        "@(",
        "+(",
        "=~ ",
        "-eq ",
        "-v ",
        "'a[$(touch z)]'",
        "\r",
        "\x0b",
    ),
    *("\xa0", "\u2028", "\x01", "\x7f", "$'\\''", "\\'", '\\"', "\\\\"),
]

ENDINGS = [
    *("", "", "touch z", "\ntouch z", "; touch z", " touch z", "\n\\touch z", "touch z ]", "touch z'", 'touch z"'),
    *("touch z)", "touch z`", "touch z }"),
]

LINES = st.tuples(
    st.sampled_from(["echo hi", "git status", "echo a", "touch", ""]),
    st.lists(st.sampled_from(TOKENS), min_size=1, max_size=9),
    st.sampled_from(ENDINGS),
).map(lambda parts: parts[0] + "".join(parts[1]) + parts[2])

BASH = shutil.which("bash") or "/bin/bash"

ALLOWED = [Rule(text=text, decision="allow", origin="user") for text in ("shell(echo:*)", "shell(git status:*)")]

DENIED = Rule(text="shell(touch z:*)", decision="deny", origin="user")


RUNNING = ("cat", "env", "nohup", "bash")
"""Programs that are run for real once they have written down that they ran."""

SHELLS = [[BASH], [BASH, "--posix"], *([dash] for dash in [shutil.which("dash")] if dash)]
"""What may read the lines that an allow rule passes."""


class Machine:
    """A folder of programs that only write down that they ran, and an empty one in which lines run."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        self._cwd = folder / "cwd"
        self._cwd.mkdir()
        programs = folder / "programs"
        programs.mkdir()
        for name in ("touch", "git", *RUNNING):
            program = programs / name
            then = f'exec {shutil.which(name)} "$@"' if name in RUNNING else ""
            program.write_text(f"#!{BASH}\n{self._note(name)}\n{then}\n")
            program.chmod(0o755)
        self._environment = {
            "PATH": os.fspath(programs),
            "HOME": os.fspath(self._cwd),
            "BASH_FUNC_command_not_found_handle%%": f"() {{ {self._note()}; }}",
        }

    def _note(self, *name: str) -> str:
        """The command that writes down how many words a program was run with, and the words."""
        return f"""printf '%s\\0' $(($# + {len(name)})) {" ".join(name)} "$@" >> {self._log}"""

    def run(self, line: str, *shell: str) -> tuple[list[tuple[str, ...]], list[str]]:
        """The words of what a shell runs of a line beside parts of itself, and the files that it has made."""
        self._log.write_text("")
        with suppress(subprocess.TimeoutExpired):  # it waits for itself, or goes round and round
            subprocess.run(
                [*(shell or [BASH]), "-c", line],
                cwd=self._cwd,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=5,
                check=False,
            )
        made = list(self._cwd.iterdir())
        for each in made:
            each.unlink()
        words = iter(self._log.read_text("utf-8", "replace").split("\0")[:-1])
        return [tuple(islice(words, int(count))) for count in words], [each.name for each in made]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


@settings(max_examples=N_EXAMPLES)
@given(LINES)
@example("git status \\ #; touch X")
@example("git status\n\\touch X")
@example("echo hi \\ #; touch z")
@example("echo hi >$\ntouch z")
def test_a_line_that_allow_rules_pass_runs_nothing_else(machine: Machine, line: str) -> None:
    if allows(ALLOWED, [line]):
        for shell in SHELLS:
            ran, made = machine.run(line, *shell)
            assert [each for each in ran if each[:2] != ("git", "status")] == made == [], shell


STRICT_WORDS = [
    "git",
    "x",
    "'a b'",
    '"c"',
    '"d $X e"',
    "\\;",
    "\\ ",
    "#",
    "*",
    "[",
    "]",
    "~",
    "$",
    "$?",
    "{}",
    "!",
    "=",
]
STRICT_SIGNS = [
    "\\",
    '"',
    "'",
    "\n",
    ";",
    "&&",
    "|",
    "&",
    "2>&1",
    ">/dev/null",
    "<x",
    " ",
    " ",
    " ",
    "2",
    "-",
    "\t",
    "`",
    "(",
]


STRICT_LINES = st.lists(st.sampled_from(STRICT_WORDS + STRICT_SIGNS), max_size=12).map(
    lambda parts: "git " + "".join(parts)
)

TRAPS = [
    *("\\\n", "$\n", "$(x)", "`x`", "{a,b}", "{1..2}", "\\ #", "\\\t#", "\\;#", "<(x)", "${v-x}", "$'\\n'", "$((1))"),
    *("''#", "\n\\", "~git", "|&", ">&2 x", "&>/dev/null x", "2>&1x", "!", "a=b"),
]
"""What a grammar easily reads otherwise than bash does."""

TRAPPED_LINES = st.tuples(
    st.sampled_from(["git ", "git a ", "git", "git b; x ", "", "git 'a'"]),
    st.sampled_from(TRAPS),
    st.sampled_from(["", " ", "a", " ; touch z", "; touch z", "\ntouch z", "touch z", "#c", " #c\nx", "~"]),
).map("".join)
"""Each with one of them amid what the strict grammar accepts, so that it alone decides."""


@settings(max_examples=N_EXAMPLES)
@given(STRICT_LINES | TRAPPED_LINES)
@example("git 'a''b'\"c\"d\\ e\\;f#g; git h #i")
@example("git status \\ #; touch X")
@example("git status\n\\touch X")
@example("git \\ #; touch z")
@example("git >$\ntouch z")
@example("git $\ntouch z")
@example("git a\\\nb")
@example("git \\\n#a\ntouch z")
@example("git $(touch z)")
@example("git {a,b}")
def test_words_are_what_bash_gives_to_programs(machine: Machine, line: str) -> None:
    read = read_strictly(line)
    if read is None:
        return
    ran, made = machine.run(line)
    assert len(ran) <= len(read.commands), (ran, read.commands)
    for words in ran:
        assert any(is_what_ran(command, words) for command in read.commands), (words, read.commands)
    assert made == []


def is_what_ran(command: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a command as it was read can be one that ran; a wildcard may be any number of words."""
    pattern = "\0".join(re.escape(each) for each in command).replace(re.escape(ANY), ".*").replace(HOME, ".*")
    return re.fullmatch(pattern, "\0".join(words), re.DOTALL) is not None


@settings(max_examples=N_EXAMPLES)
@given(LINES | hidden_commands(TOKENS))
@example("echo x >$\ntouch z")
@example("[ a || touch z ]")
@example("[ a && touch z ]")
@example("0<<<hi touch z")
@example("! ! touch z")
@example("time ! touch z")
@example("time A=1 touch z")
@example('"$X"eval touch z')
@example("read 'a[$(touch z)]'")
@example("[[ -v 'a[$(touch z)]' ]]")
@example("test -v 'a[$(touch z)]'")
@example("printf -v 'a[$(touch z)]' x")
@example("(( a['$(touch z)'] ))")
@example("a['$(touch z)']=1")
@example("x='a[$(touch z)]'; echo $((x))")
@example("PS4='$(touch z)'; set -x; echo")
@example("compgen -C 'touch z'")
@example("jobs -x touch z")
@example("compgen -W '$(touch z)'")
@example("hash -p touch echo; ! echo")
@example("shopt -s expand_aliases\nalias x='touch z'\nx")
@example("cat <<-E\n\t$(touch z)\n\tE")
@example('cat <<E\n"$(touch "x y")\nE')
@example("echo a|&a=(\\()@ touch z ]")
@example("v=touch; false && v=echo; $v z")
@example("v=touch; (v=echo); $v z")
@example("v=touch; v=echo true; $v z")
@example("v=to; v+=uch; $v z")
@example("v=echo; read v <<< touch; $v z")
@example("v=tZouch; ${v/Z/} z")
@example("v=; : ${v:=touch}; $v z")
@example("v=; $v touch z")
@example("v=; w=; $v$w touch z")
@example("IFS=q; v=touchqz; $v")
@example("for v in echo touch; do $v z; done")
@example("$X touch z")
@example("X=$(echo touch z); $X")
@example("$'touch\\0x' z")
@example("$'\\564ouch' z")
@example("$'\\x{74}ouch' z")
@example("$(printf to%s uch) z")
@example("$(echo -e 'to\\x75ch') z")
@example("$(echo ls >/dev/null) touch z")
@example("$(type -P nothing) touch z")
@example("echo() { printf touch; }; $(echo ls) z")
@example("echo 'touch z' | cat | bash")
@example("bash < <(echo touch z)")
@example("bash -c '. /dev/stdin' <<< 'touch z'")
@example("x='a[$'; x+='(touch z)]'; echo $((x))")
@example("read x <<< 'a[$(touch z)]'; echo $((x))")
@example("set -- 'a[$(touch z)]'; echo $(($1))")
@example('x=\'$\'; y=\'(touch z)\'; echo "${x@P}" "$(eval "echo $x$y")"')
@example("env PS4='$(touch z)' bash -xc :")
@example("PS4='$(to\"\"uch z)'; set -x; :")
@example('[[ -v "a[\\$(touch z)]" ]]')
@example("mapfile -tC 'touch z' -c 1 a <<< x")
@example("BASH_ALIASES[x]='touch z'; shopt -s expand_aliases\nx")
@example("set -o history -o histexpand; history -s touch z\n!!")
@example("echo ${v^^$(touch z)}")
@example("ba${X}sh -c 'touch z'")
@example('bash -c "X${X@P}=1 $X touch z"')
@example("BASH_ENV=<(echo touch z) bash -c :")
def test_a_line_that_runs_what_is_denied_is_denied_or_asked_for(machine: Machine, line: str) -> None:
    if concerns(DENIED, [line]) is Match.NO:
        ran, _ = machine.run(line)
        assert [each for each in ran if each[:2] == ("touch", "z")] == []


@settings(max_examples=N_EXAMPLES)
@given(LINES | hidden_commands(TOKENS))
@example("git status &>/dev/null touch z")
@example("((touch z))")
@example("echo $'\\'; touch z; '")
def test_another_shell_is_given_no_line_that_it_reads_otherwise(machine: Machine, line: str) -> None:
    if is_portable(line) and concerns(DENIED, [line]) is Match.NO:
        for shell in SHELLS[1:]:
            ran, _ = machine.run(line, *shell)
            assert [each for each in ran if each[:2] == ("touch", "z")] == [], shell
