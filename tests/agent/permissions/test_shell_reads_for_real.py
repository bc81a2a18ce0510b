"""Whatever a real program shows of a withheld file, the rule is found to be about the line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.permissions.shell_reads import reads_of
from pygent_ls.agent.rules.matcher import Match
from pygent_ls.agent.rules.read_rules import ReadingCase
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.agent.permissions.test_shell_reads import ASKED, RAN, REFUSED

PLUM = "plum-7391"
"""Stands in every file that the rule withholds, and nowhere else."""

DENY = Rule(text="read_file(**/.env)", decision="deny", origin="user")

WORDS = (
    ".env¦src/.env¦src¦.¦README.md¦names¦HEAD¦HEAD~1¦HEAD:.env¦HEAD:README.md¦HEAD:src¦KEY¦--¦-¦*¦-p¦"
    "-r¦-n¦-f¦-c¦-e¦-A1¦s/a/b/¦p¦r .env¦1r.env¦-v¦-L1,1:.env¦--stat¦--name-only¦--cached¦-U0¦--oneline¦"
    "-1¦-l¦-w¦--format=%h¦-s¦-q¦-d¦recurse¦--files0-from=names0¦--files0-from¦-drecurse¦-a¦-m¦"
    "--full-diff¦-S¦-i¦-u¦x¦-G¦-C¦-T"
)

PROGRAMS = (
    "git diff,git show,git log,git grep,git stash show,git stash list,git blame,git cat-file,"
    "git status,git commit --dry-run,git ls-files,git rev-list,git archive --format=tar,"
    "git whatchanged,git reflog,git diff-tree,git diff-index,git config,git add,git checkout,"
    "git -C src diff,git branch,git rev-parse,grep,grep KEY,sed,sed -n,awk,file,wc,sort,du,md5sum,"
    "sha256sum,cat,find,diff,xargs,tar cf -,ls,head,env,tree,rg KEY,cut -c1-,stat,echo,ls | xargs,"
    "ls -a | xargs grep,cksum,shasum,readlink,basename,realpath,test,touch -r,timeout 5,bash,python3,"
    "jq,less,uniq"
)
"""Programs that change nothing outside of their folder, whatever their words: what is not found is run."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits, a stash and changes, in all of which the withheld files differ."""
    folder = tmp_path_factory.mktemp("reads") / "template"
    (folder / "src").mkdir(parents=True)
    (folder / "README.md").write_text("a KEY\n")
    (folder / "src" / "a.py").write_text("x KEY\n")
    (folder / "names").write_text(".env\nsrc/.env\n")
    (folder / "names0").write_text(".env\0src/.env\0")
    commands = "git init -q . && git config user.name x && git config user.email x@x && git add . && git commit -qm one"
    for n, command in enumerate([commands, "git add . && git commit -qm two", "git stash -q", "git add .", "true"]):
        for path in (folder / ".env", folder / "src" / ".env"):
            path.write_text(f"KEY={PLUM}\nN={PLUM}{n}\n")
        (folder / "README.md").write_text(f"a KEY\n{n}\n")
        subprocess.run(command, shell=True, cwd=folder, check=True, timeout=30)
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "w", symlinks=True))


def shown_by(line: str, folder: Path) -> str:
    """What the line shows; it cannot reach a terminal, nor run for long."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_PAGER": "cat", "GIT_EDITOR": "cat"}
    process = subprocess.Popen(
        ["bash", "-c", f"ulimit -t 5 -f 20000; {line}"],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=5)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return process.communicate(timeout=10)[0].decode("utf-8", "replace")


def copies_in(folder: Path) -> list[str]:
    """Files in which a withheld text stands now, under a name that is not withheld."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts[-3:-1]]
    return [
        path.name
        for path in files
        if path.name != ".env" and "objects" not in path.parts and PLUM.encode() in path.read_bytes()
    ]


def is_found(line: str, folder: Path) -> bool:
    return ReadingCase(reads_of(line, folder, DiskWorkspace([folder]))).concerned_by(DENY) is not Match.NO


def fresh(template: Path, folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(template, folder, symlinks=True)


LINES = [
    each for each in dict.fromkeys((REFUSED + ASKED + RAN).split("\n")) if each and not re.search("/w/|^npm", each)
]


@pytest.mark.parametrize("line", [each for each in LINES if shutil.which(each.partition(" ")[0])])
def test_what_shows_a_withheld_file_is_found(line: str, template: Path, folder: Path) -> None:
    found = is_found(line, folder)
    assert found or (PLUM not in shown_by(line, folder) and not copies_in(folder))


@pytest.mark.parametrize(
    "line",
    ["cat dl/../key", "cd dl/.. && cat key", "cd -P dl/.. && cat key", "cat dl/key", "cd dl && cat key", "cat dl/*"],
)
def test_a_folder_above_a_link_is_the_one_that_the_system_enters(line: str, tmp_path: Path) -> None:
    (tmp_path / "keys" / "sub").mkdir(parents=True)
    (tmp_path / "keys" / "key").write_text(PLUM)
    (tmp_path / "keys" / "sub" / "key").write_text(PLUM)
    (tmp_path / "dl").symlink_to("keys/sub")
    rule = Rule(text="read_file(keys/**)", decision="deny", origin="user")
    reads = ReadingCase(reads_of(line, tmp_path, DiskWorkspace([tmp_path])))
    assert PLUM not in shown_by(line, tmp_path) or reads.concerned_by(rule) is not Match.NO


@pytest.mark.parametrize("program", [each for each in PROGRAMS.split(",") if shutil.which(each.partition(" ")[0])])
def test_no_random_line_shows_a_withheld_file_without_being_found(program: str, template: Path, folder: Path) -> None:
    @given(st.lists(st.sampled_from(WORDS.split("¦")), max_size=4))
    def check(words: list[str]) -> None:
        line = f"{program} {shlex.join(words)}".replace("'*'", "*")
        if not is_found(line, folder):
            shown = shown_by(line, folder)
            if program.startswith(("git add", "git checkout", "git branch", "touch")):
                fresh(template, folder)
            assert PLUM not in shown, line

    check()
