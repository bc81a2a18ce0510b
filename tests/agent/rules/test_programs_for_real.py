"""What a rule covers is run with the real program, which must run nothing else and write no file."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.rules.test_program_rules import RULES, covered

MARK = "marked"

SCRIPTS = {
    "awk": (
        '{¦}¦print¦ ¦$1¦>¦"marked"¦|¦"touch marked"¦system(¦)¦/¦BEGIN¦;¦a¦#¦\n¦getline¦<¦(¦1¦=¦length¦printf¦'
        '\\¦"¦if¦,¦!¦[¦]'
    ),
    "sed": (
        "1¦$¦,¦/x/¦/a/I¦\\,x,¦!¦ ¦;¦{¦}¦\n¦e¦touch marked¦w¦W¦marked¦p¦s/x/y/¦s|a|touch marked|¦s¦y/a/b/¦g¦n¦a¦"
        "i\\¦:x¦b¦[¦]¦\\¦#¦M¦m¦~2¦+1"
    ),
    "find": "-exec¦touch¦marked¦;¦+¦{}¦-delete¦-fprint¦-name¦*¦-o¦(¦)¦-print¦-ok¦.",
    "env": "A=1¦-i¦-S¦touch marked¦ls¦touch¦-u¦-¦--¦sh¦-c",
    "xargs": "-I¦{}¦-n¦1¦-i¦-t¦ls¦touch¦marked¦-0n¦--¦-r¦sort¦-a¦a",
    "timeout": "-k¦1¦-s¦KILL¦ls¦touch¦marked¦--¦-v¦5",
    "tar": (
        "tf¦-tf¦a.tar¦--to-command¦-I¦./run¦tIf¦tFf¦-F¦--checkpoint=1¦xf¦cf¦-O¦list¦"
        "--checkpoint-action=exec=./run¦-T¦-P¦v"
    ),
    "make": "-n¦-j2¦all¦-f¦list¦--eval¦$(shell touch marked)¦X=$(shell touch marked)¦SHELL=./run¦-s¦-E¦-C¦.",
    "git": "--output¦marked¦-O./run¦--ext-diff¦--no-index¦a¦b¦-p¦--stat¦HEAD¦--¦-c¦core.pager=./run",
}
"""By program: pieces of its scripts, or words of its own, some of which do more."""

VALUES = ["./run", "touch marked", "marked", "list", "a", "1", "sh", "--", "-", "x"]

READING = (
    "awk,sed,sort,find,uniq,file,base64,xxd,less,man,jq,shuf,rg,tree,gawk,env,xargs,timeout,nice,"
    "stdbuf,git diff,git log,git grep,git show,git status,git blame,git ls-files,git ls-remote,"
    "git branch --list,go list,openssl,curl"
)
"""Programs that write nothing; `split`, `tar` and `make` write what they are for. `date` is never run with random
words: if the judgement were wrong, it would set the clock of the machine."""

ORDINARY = "awk,find,jq,less,rg,sed,sort,tree,uniq,xxd"

OTHERS = "split,tar,make all,ssh 127.0.0.1 -p 1,scp -P 1,rsync,zip,git clone,git fetch,psql,sqlite3"


def there(programs: str) -> list[str]:
    return [each for each in programs.split(",") if shutil.which(each.partition(" ")[0])]


@cache
def options_of(program: str) -> list[str]:
    """The long options that the program's own help tells of."""
    command = [*program.split()[:2], "-h"] if program.startswith("git ") else [program.partition(" ")[0], "--help"]
    env = {"PATH": os.environ["PATH"], "MANPAGER": "cat", "PAGER": "cat"}
    done = subprocess.run(
        command,
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        stdin=subprocess.DEVNULL,
        errors="replace",
    )
    return sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", done.stdout + done.stderr))) or ["--help"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a repository whose files include programs that leave a mark when they run."""
    folder = tmp_path_factory.mktemp("programs") / "template"
    folder.mkdir()
    (folder / "a").write_text("x\ny\n")
    (folder / "b").write_text("a b\n")
    (folder / "list").write_text("--checkpoint-action=exec=./run\n1e touch marked\n.PHONY: $(shell touch marked)\n")
    (folder / "Makefile").write_text("all:\n\t@echo done\n")
    (folder / "run").write_text('#!/bin/sh\ntouch "${0%/*}/marked"\n')
    (folder / "run").chmod(0o755)
    for command in (
        "tar cf a.tar a b",
        "git init -q .",
        "git add .",
        "git -c user.name=x -c user.email=x@x commit -qm x",
    ):
        subprocess.run(command, shell=True, cwd=folder, check=True, timeout=30)
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "w", symlinks=True))


def words_for(program: str) -> st.SearchStrategy[list[str]]:
    name = program.partition(" ")[0].replace("gawk", "awk")
    pieces = st.sampled_from(SCRIPTS[name].split("¦") if name in SCRIPTS else VALUES)
    is_script = name in ("sed", "awk")
    own = st.lists(pieces, min_size=1, max_size=6).map("".join) if is_script else pieces
    letter = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=2)
    value = st.sampled_from(VALUES) | own
    option = st.one_of(
        letter.map("-{}".format),
        st.builds("-{}{}".format, letter, value),
        st.sampled_from(options_of(program)),
        st.builds("{}={}".format, st.sampled_from(options_of(program)), value),
    )
    return st.lists(st.one_of(option, own, own, value), max_size=4)


def changed(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if ".git" not in path.relative_to(folder).parts and path.is_file():
            yield f"{path.relative_to(folder)} {path.stat().st_size} {path.stat().st_mtime_ns}"


def run(line: str, folder: Path) -> None:
    """Run the line with a home of its own, and no network to speak of."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "MANPAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
    env |= {
        "http_proxy": "http://127.0.0.1:1",
        "https_proxy": "http://127.0.0.1:1",
        "GOPROXY": "off",
        "GOFLAGS": "-mod=mod",
    }
    line = f"ulimit -t 5 -f 20000; {line}"
    process = subprocess.Popen(
        ["bash", "-c", line],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(timeout=3)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait(timeout=10)


@pytest.mark.parametrize("program", there(READING))
def test_a_line_that_a_rule_covers_runs_nothing_else_and_writes_nothing(
    program: str, template: Path, folder: Path
) -> None:
    before = list(changed(folder))

    @given(words_for(program))
    def check(words: list[str]) -> None:
        line = f"{program} {shlex.join(words)}"
        if covered(f"{program}:*", line, "ls:*"):
            run(line, folder)
            after = list(changed(folder))
            if after != before:
                shutil.rmtree(folder)
                shutil.copytree(template, folder, symlinks=True)
            assert after == before, line

    check()


@pytest.mark.parametrize("program", there(OTHERS))
def test_a_line_of_a_program_that_writes_runs_nothing_else(program: str, template: Path, tmp_path: Path) -> None:
    @given(words_for(program))
    def check(words: list[str]) -> None:
        line = f"{program} {shlex.join(words)}"
        if MARK not in words and covered(f"{program}:*", line, "ls:*"):
            folder = Path(shutil.copytree(template, tmp_path / "w", symlinks=True))
            (folder / MARK).mkdir()
            stamp = (folder / MARK).stat().st_mtime_ns
            run(line, folder)
            after = (folder / MARK).stat().st_mtime_ns
            shutil.rmtree(folder)
            assert after == stamp, line

    check()


@pytest.mark.parametrize("rule", [each for each in RULES if re.split(r"[ :]", each)[0] in ORDINARY.split(",")])
def test_the_ordinary_lines_of_a_rule_write_nothing_either(rule: str, folder: Path) -> None:
    before = list(changed(folder))
    for line in RULES[rule].get("covers", []):
        run(line, folder)
        assert list(changed(folder)) == before, line
