"""Judgements of command lines held against bash itself: a line that an allow rule passes runs nothing else, and one
that no deny rule stops does not run what is denied. `make fuzz` tries more lines."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pygent_ls.agent.matching import Match, allows, concerns
from pygent_ls.agent.rules import Rule

EXAMPLES = int(os.environ.get("PYGENT_FUZZ", "300"))

TOKENS = [
    *("echo", "hi", "touch", "touch z", "git status", "z", "x", "-n", "é", "0", "1", "'E'", " ", " ", " ", " ", "\t"),
    *("\n", ";", "&&", "||", "|", "&", "|&", ";;", "$(", ")", "`", "'", '"', "\\", "\\ ", "\\t", "\\;", "\\\n", "$'"),
    *(">", "<", "<<<", "<(", ">(", "&>", "2>&1", ">/dev/null", "<<E\n", "E\n", "#", "{", "}", "(", "()", "!", "! "),
    *("$X", "${X}", '"$X"', "$HOME", "$?", "$", "$\n", "${", "$((", "))", "=", "a=", "a=(", "+=", "*", "?", "[", "]"),
    *("[ ", " ]", "[[ ", " ]]", "if ", "then ", "fi", "case ", "in ", "esac", "for ", "do ", "done", "while ", "time "),
    *("function ", "f", "eval ", ",", "{a,b}", "..", "~", "%", "^", "@", "-", ":"),
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

DENIED = Rule(text="shell(touch:*)", decision="deny", origin="user")


class Machine:
    """A folder of programs that only write down that they ran, and an empty one in which lines run."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        self._cwd = folder / "cwd"
        self._cwd.mkdir()
        programs = folder / "programs"
        programs.mkdir()
        for name in ("touch", "git"):
            program = programs / name
            program.write_text(f'#!{BASH}\necho {name} "${{@@Q}}" >> {self._log}\n')
            program.chmod(0o755)
        self._environment = {
            "PATH": os.fspath(programs),
            "HOME": os.fspath(self._cwd),
            "BASH_FUNC_command_not_found_handle%%": f'() {{ echo "none ${{*@Q}}" >> {self._log}; }}',
        }

    def run(self, line: str) -> tuple[list[str], list[str]]:
        """What bash runs of a line beside parts of itself, and the files that it has made."""
        self._log.write_text("")
        subprocess.run(
            [BASH, "-c", line],
            cwd=self._cwd,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        made = list(self._cwd.iterdir())
        for each in made:
            each.unlink()
        return self._log.read_text().splitlines(), [each.name for each in made]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


SETTINGS = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)


@SETTINGS
@given(LINES)
@example("git status \\ #; touch X")
@example("git status\n\\touch X")
@example("echo hi \\ #; touch z")
@example("echo hi >$\ntouch z")
def test_a_line_that_allow_rules_pass_runs_nothing_else(machine: Machine, line: str) -> None:
    if allows(ALLOWED, [line]):
        ran, made = machine.run(line)
        assert [each for each in ran if not each.startswith("git 'status'")] == made == []


@SETTINGS
@given(LINES)
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
def test_a_line_that_runs_what_is_denied_is_denied_or_asked_for(machine: Machine, line: str) -> None:
    if concerns(DENIED, [line]) is Match.NO:
        ran, _ = machine.run(line)
        assert [each for each in ran if each.startswith("touch ")] == []
