"""What a command in the sandbox may plant: nothing that git, an editor, an agent or a shell runs outside of it later.

With the real bubblewrap and the real git. What would be run writes a file, and git is used afterwards as a user or an
editor would.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pygent_ls.agent.permissions.autorun_files import OPENED, VERSION_CONTROL
from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.sandbox import Sandbox, SandboxOptions
from tests.fakes import bounded
from tests.workspace.programs import LIMIT_S, Listener

NOBODY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    **{f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


class Repository:
    """A workspace with a repository, and what shows that something ran outside the sandbox."""

    def __init__(self, top: Path) -> None:
        self.folder = top / "project"
        self.ran = top / "ran"
        self.folder.mkdir()
        self.processes = LocalProcesses(Sandbox(SandboxOptions(), lambda: [self.folder]))

    def git(self, *arguments: str, cwd: str = "", check: bool = True) -> str:
        """Git as the user runs it."""
        argv = ["git", "-c", "protocol.file.allow=always", *arguments]
        environment = {**os.environ, **NOBODY}
        done = subprocess.run(
            argv, cwd=self.folder / cwd, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert not check or done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def begin(self, where: str = "") -> None:
        """Make a repository with one commit."""
        (self.folder / where).mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", cwd=where)
        (self.folder / where / "a.txt").write_text("one\n")
        self.git("add", ".", cwd=where)
        self.git("commit", "-qm", "one", cwd=where)

    async def run(self, command: str) -> ProcessResult:
        """Run a command in the sandbox; `$evil` in it is a line that would be seen if it ran outside."""
        spec = ProcessSpec(
            argv=("bash", "-c", command),
            cwd=self.folder,
            timeout_s=LIMIT_S,
            sandboxed=True,
            env={**NOBODY, "evil": f"touch {self.ran}"},
        )
        return await self.processes.run(spec, Listener())

    def shell(self, command: str) -> None:
        """What stands in the workspace before a command in the sandbox begins."""
        subprocess.run(["bash", "-c", command], cwd=self.folder, check=True, timeout=LIMIT_S)

    def use(self) -> None:
        """Do what a user and an editor do in all of the workspace's folders."""
        for folder, names, _ in os.walk(self.folder):
            names[:] = [name for name in names if name != ".git"]
            for each in (["status"], ["diff"], ["log", "-1"], ["commit", "-q", "--allow-empty", "-m", "x"]):
                self.git(*each, cwd=folder, check=False)
        self.git("submodule", "update", "--init", check=False)
        assert not self.ran.exists()

    def names(self) -> list[str]:
        return sorted(each.name for each in self.folder.iterdir())


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path.resolve())


FAKE = (
    'mkdir -p {0}/objects {0}/refs {0}/hooks; echo "ref: refs/heads/main" > {0}/HEAD; '
    'printf "[core]\\n\\tfsmonitor = $evil;false\\n" > {0}/config; '
    'printf "#!/bin/sh\\n$evil\\n" > {0}/hooks/pre-commit; chmod +x {0}/hooks/pre-commit'
)
"""Shell that makes a repository's folder that would run something."""

BARE = (
    f"{FAKE}; mkdir {{0}}/files; "
    r"printf '\trepositoryformatversion = 0\n\tbare = false\n\tworktree = files\n' >> {0}/config"
)
"""Shell that makes a folder one that git takes for a repository, without a `.git`."""


@pytest.mark.parametrize(
    "plant",
    [
        "mkdir -p sub/.git; mkfifo sub/.git/config",
        "mkdir -p other sub; mkfifo other/commondir; echo gitdir: ../other > sub/.git",
        "mkdir -p sub; mkfifo sub/.git",
        "mkdir -p sub/.git; ln -s /dev/tty sub/.git/config",
    ],
)
async def test_a_pipe_where_a_repository_has_a_file_holds_no_command_up(repository: Repository, plant: str) -> None:
    repository.begin()
    repository.shell(plant)

    result = await bounded(repository.run("echo done"))

    assert "done" in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        'printf "#!/bin/sh\\n$evil\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
        'rm -rf .git/hooks; mkdir .git/hooks; printf "#!/bin/sh\\n$evil\\n" > .git/hooks/pre-commit; '
        "chmod +x .git/hooks/pre-commit",
        f"mv .git old; {FAKE.format('.git')}",
        f"rm -rf .git; {FAKE.format('.git')}",
        'printf "[core]\\nfsmonitor = $evil;false\\n" > .git/config',
        'printf "[core]\\nfsmonitor = $evil;false\\n" > c; mv c .git/config',
        'git config core.fsmonitor "$evil;false"',
        f"{FAKE.format('fake')}; echo ../fake > .git/commondir",
        f"{FAKE.format('fake')}; rm -f .git/commondir; echo ../fake > c; mv -f c .git/commondir",
        f"rm -f .git/HEAD; {BARE.format('.')}",
        f"rm -rf .git/refs .git/objects; {BARE.format('.')}",
    ],
)
async def test_git_runs_nothing_later_in_the_users_repository(repository: Repository, command: str) -> None:
    repository.begin()

    await repository.run(command)

    repository.use()


@pytest.mark.parametrize(
    "command",
    [
        FAKE.format(".git"),
        FAKE.format("deep/er/.git"),
        BARE.format("."),
        BARE.format("sub"),
        f"{FAKE.format('fake')}; ln -s fake .git",
        f"{FAKE.format('fake')}; mkdir sub; ln -s ../fake sub/.git",
        f"{FAKE.format('fake')}; mkdir sub; echo 'gitdir: ../fake' > sub/.git",
        f"{FAKE.format('/tmp/fake')}; mkdir sub; "
        "echo gitdir: $(awk '$5 == \"/tmp\" {print $4}' /proc/self/mountinfo)/fake > sub/.git",
        f"git init -q sub; {FAKE.format('fake')}; echo ../../fake > sub/.git/commondir",
        f"git init -q sub; {FAKE.format('sub/.git/modules/m')}; mkdir sub/m; "
        "echo gitdir: ../.git/modules/m > sub/m/.git",
        'git init -q sub; printf "[include]\\npath = ../../conf\\n" >> sub/.git/config; '
        'printf "[core]\\nfsmonitor = $evil;false\\n" > conf',
        'git init -q sub; echo x > sub/.git/config.worktree; printf "[core]\\nfsmonitor = $evil;false\\n[extensions]'
        '\\nworktreeConfig = true\\n" >> sub/.git/config',
        f"git init -q sub; {FAKE.format('fake')}; rm -r sub/.git/hooks; ln -s ../../fake/hooks sub/.git/hooks",
        f"{FAKE.format('.vscode/deep/.git')}; {FAKE.format('lib/.vscode/deep/.git')}",
        f"{FAKE.format('closed/deep/.git')}; chmod 311 closed closed/deep",
        f"{FAKE.format('sub/.git')}; mv sub/.git/hooks sub/.git/HOOKS; mv sub/.git sub/.GIT",
        f"(for n in $(seq 25000); do echo > a$n; done); {FAKE.format('zz/deep/.git')}",
    ],
)
async def test_git_runs_nothing_later_where_a_repository_is_new(repository: Repository, command: str) -> None:
    await repository.run(command)

    repository.use()


@pytest.mark.parametrize(
    ("prepared", "command"),
    [
        ("hooks", 'printf "#!/bin/sh\\n$evil\\n" > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit'),
        (
            "hooks",
            'mv tools t; mkdir -p tools/hooks; printf "#!/bin/sh\\n$evil\\n" > tools/hooks/pre-commit; '
            "chmod +x tools/hooks/pre-commit",
        ),
        (
            "missing hooks",
            'mkdir -p later/hooks; printf "#!/bin/sh\\n$evil\\n" > later/hooks/pre-commit; '
            "chmod +x later/hooks/pre-commit",
        ),
        ("include", 'printf "[core]\\nfsmonitor = $evil;false\\n" > shared.gitconfig'),
        ("missing include", 'printf "[core]\\nfsmonitor = $evil;false\\n" > later.gitconfig'),
        ("program", 'printf "#!/bin/sh\\n$evil\\n" > tools/monitor'),
        ("link", f"{FAKE.format('fake')}; rm .git; ln -s fake .git"),
        ("link", f"{FAKE.format('fake')}; rm .git; cp -r fake .git"),
        ("nested", 'git -C libs/a/b config core.fsmonitor "$evil;false"'),
        ("nested", f"mv libs old; {FAKE.format('libs/a/b/.git')}"),
        ("nested", f"rm -rf libs; {FAKE.format('libs/a/b/.git')}"),
        ("submodule", 'git -C libs/a/b config core.fsmonitor "$evil;false"'),
        (
            "submodule",
            'd=.git/modules/libs/a/b; mkdir -p $d/hooks; printf "#!/bin/sh\\n$evil\\n" > $d/hooks/pre-commit; '
            "chmod +x $d/hooks/pre-commit",
        ),
        ("submodule", f"mv .git/modules/libs .git/modules/x; {FAKE.format('.git/modules/libs/a/b')}"),
        ("submodule", f"{FAKE.format('fake')}; echo ../../../../../fake > .git/modules/libs/a/b/commondir"),
        ("submodule", f"{FAKE.format('fake')}; echo 'gitdir: ../../../fake' > libs/a/b/.git"),
        (
            "submodule",
            f"{FAKE.format('fake')}; mv libs l; mkdir -p libs/a/b; echo 'gitdir: ../../../fake' > libs/a/b/.git",
        ),
        ("submodule", f"rm .git/modules/libs/a/b/HEAD; {FAKE.format('.git/modules/libs/a/b')}"),
        ("settings of a work tree", 'git config --worktree core.fsmonitor "$evil;false"'),
        ("worktree", f"{FAKE.format('fake')}; echo ../../../fake > .git/worktrees/tree/commondir"),
        ("worktree", f"{FAKE.format('fake')}; echo 'gitdir: ../fake' > tree/.git"),
        ("worktree", f"mv .git/worktrees/tree .git/worktrees/t; {FAKE.format('.git/worktrees/tree')}"),
    ],
)
async def test_git_runs_nothing_later_of_what_its_settings_name(
    repository: Repository, prepared: str, command: str
) -> None:
    repository.begin()
    (repository.folder / "tools" / "hooks").mkdir(parents=True)
    (repository.folder / "tools" / "monitor").write_text("#!/bin/sh\nexit 1\n")
    (repository.folder / "tools" / "monitor").chmod(0o755)
    (repository.folder / "shared.gitconfig").write_text("[core]\n")
    match prepared:
        case "hooks":
            repository.git("config", "core.hooksPath", "tools/hooks")
        case "missing hooks":
            repository.git("config", "core.hooksPath", "later/hooks")
        case "include":
            repository.git("config", "include.path", "../shared.gitconfig")
        case "missing include":
            repository.git("config", "include.path", "../later.gitconfig")
        case "program":
            repository.git("config", "core.fsmonitor", "tools/monitor")
        case "link":
            (repository.folder / ".git").rename(repository.folder / "real")
            (repository.folder / ".git").symlink_to("real")
        case "settings of a work tree":
            repository.git("config", "extensions.worktreeConfig", "true")
        case "nested":
            repository.begin("libs/a/b")
        case "submodule":
            repository.begin("../other")
            repository.git("submodule", "--quiet", "add", str(repository.folder.parent / "other"), "libs/a/b")
            repository.git("commit", "-qm", "sub")
        case _:
            repository.git("worktree", "add", "-q", "tree", "-b", "tree")

    await repository.run(command)

    repository.use()


@pytest.mark.parametrize("prepared", ["a folder below", "another owner", "another branch"])
async def test_hooks_that_git_finds_otherwise_than_the_daemon_are_protected(
    repository: Repository, prepared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.begin()
    top = repository.folder
    (top / "tools" / "hooks").mkdir(parents=True)
    (top / "team.gitconfig").write_text("[core]\n\thooksPath = tools/hooks\n")
    if prepared == "another branch":
        repository.git("config", "includeIf.onbranch:side.path", "../team.gitconfig")
    else:
        repository.git("config", "core.hooksPath", "tools/hooks")
    if prepared == "a folder below":
        repository.folder = top / "tools"
    with monkeypatch.context() as context:
        if prepared == "another owner":
            context.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        await repository.run(
            'for d in hooks tools/hooks; do printf "#!/bin/sh\\n$evil\\n" > $d/pre-commit; chmod +x $d/pre-commit; done'
        )
    repository.folder = top
    repository.git("checkout", "-q", "-b", "side")

    repository.use()


@pytest.mark.parametrize(
    "command",
    [
        "ln -sf {0} .git/COMMIT_EDITMSG",
        "rm -f .git/index; ln -s {0} .git/index",
        "rm .git/logs/HEAD; ln -s {0} .git/logs/HEAD",
        "rm .git/logs/HEAD; ln -s {0} .git/logs/HEAD; chmod 311 .git/logs",
        "rm -r .git/logs; ln -s {1} .git/logs",
        "rm -r .git/objects/pack; ln -s {1} .git/objects/pack",
        "git checkout -q -b objects/x; rm .git/logs/refs/heads/objects/x; ln -s {0} .git/logs/refs/heads/objects/x",
        "git init -q sub; git -C sub commit -q --allow-empty -m x; ln -sf {0} sub/.git/COMMIT_EDITMSG",
        "git init -q sub; git -C sub commit -q --allow-empty -m x; ln -sf {0} sub/.git/logs/HEAD",
    ],
)
async def test_git_writes_nothing_later_outside_the_workspace(repository: Repository, command: str) -> None:
    repository.begin()
    outside = repository.folder.parent / "outside"
    outside.mkdir()
    (outside / "HEAD").write_text("mine\n")

    result = await repository.run(command.format(outside / "HEAD", outside))
    repository.use()
    repository.git("gc", "-q")

    assert "[sandbox: " in result.stdout
    assert [(each.name, each.read_text()) for each in outside.iterdir()] == [("HEAD", "mine\n")]


async def test_links_that_a_repository_had_before_stay(repository: Repository) -> None:
    repository.begin()
    (repository.folder / ".git" / "logs").rename(repository.folder / "logs")
    (repository.folder / ".git" / "logs").symlink_to("../logs")

    result = await repository.run("git commit -q --allow-empty -m x; rm .git/logs; ln -s /tmp .git/logs")

    assert (repository.folder / ".git" / "logs").readlink() == Path("../logs")
    assert ".git/logs was removed" in result.stdout


async def test_ordinary_work_with_git_goes_on(repository: Repository) -> None:
    repository.begin()
    result = await repository.run(
        """set -e
        echo two > b.txt; git add -A; git status --short; git commit -qm two
        git checkout -q -b side HEAD~1; echo side > b.txt; git add b.txt; git commit -qm side; git tag v1
        git merge main && exit 1; git status --short; echo both > b.txt; git add b.txt; git commit -qm merged
        git checkout -q -b other main; echo three > c.txt; git add .; git commit -qm three; git rebase -q side
        echo more > c.txt; git stash -q; git stash pop -q; git commit -qam more; git reset -q --soft HEAD~1
        git commit -qm again; git switch -q main; git merge -q other
        git cherry-pick --allow-empty v1 >/dev/null 2>&1 || git cherry-pick --abort
        git gc -q; git fsck --no-dangling; git worktree list; git log --oneline --all | wc -l; git reflog | tail -1"""
    )

    assert (result.exit_code, "fatal" in result.stdout, "[sandbox" in result.stdout) == (0, False, False), result.stdout
    assert "A  b.txt" in result.stdout
    assert repository.git("status", "--short") == ""
    assert repository.git("show", "HEAD:c.txt") == "more\n"
    assert repository.names() == [".git", "a.txt", "b.txt", "c.txt"]
    assert {"commondir", "config.worktree", "modules", "remotes", "worktrees"}.isdisjoint(
        each.name for each in (repository.folder / ".git").iterdir()
    )


async def test_work_in_submodules_and_their_status_go_on(repository: Repository) -> None:
    repository.begin("../other")
    repository.begin()
    repository.git("submodule", "--quiet", "add", str(repository.folder.parent / "other"), "libs/a/b")
    repository.git("commit", "-qm", "sub")
    result = await repository.run(
        """set -e; cd libs/a/b; echo two > b.txt; git add b.txt
        git commit -qm two; cd ../../..
        git status --short; git add libs; git commit -qm moved; git submodule status
        git diff --submodule HEAD~1 | cat"""
    )

    assert result.exit_code == 0, result.stdout
    assert " M libs/a/b" in result.stdout
    assert "> two" in result.stdout
    assert repository.git("status", "--short") == ""


async def test_a_new_repository_that_runs_nothing_stays(repository: Repository) -> None:
    repository.begin()
    result = await repository.run(
        "set -e; git init -q fresh; git clone -q . copy; git init -q --bare store.git; "
        "git -C copy push -q ../store.git HEAD; "
        "cd fresh; git commit -q --allow-empty -m x"
    )

    assert (result.exit_code, result.stdout.count("[sandbox")) == (0, 0), result.stdout
    assert (repository.folder / "fresh" / ".git" / "HEAD").exists()
    assert repository.git("log", "--format=%s", cwd="copy") == "one\n"
    assert repository.git("log", "--format=%s", "HEAD", cwd="store.git", check=False) in ("one\n", "")


async def test_a_repository_that_was_made_unusable_is_told_of(repository: Repository) -> None:
    result = await repository.run(FAKE.format("sub/.git"))

    assert "[sandbox: sub/.git would make programs run outside the sandbox; it was renamed to .git.untrusted-" in (
        result.stdout
    )
    assert not (repository.folder / "sub" / ".git").exists()


async def test_what_an_editor_or_an_agent_takes_up_cannot_be_made(repository: Repository) -> None:
    tries = (
        "mkdir -p $n/x; echo x > $n/settings.json; rm -rf $n; rmdir $n; echo x > $n; ln -s a.txt $n; mv $n gone; "
        "echo x > gone; mv -T gone $n"
    )

    await repository.run(f"for n in {' '.join(OPENED)}; do {tries}; done; rm -rf gone; touch done")

    assert repository.names() == ["done"]


async def test_who_may_not_make_it_reads_why(repository: Repository) -> None:
    assert "Ask the user to run `git init`" in (await repository.run("git init")).stdout
    assert "cannot be written: .vscode. They" in (await repository.run("mkdir .vscode/x")).stdout
    assert "cannot be written: .envrc. They" in (await repository.run("echo x > .envrc")).stdout


async def test_who_may_not_write_it_reads_why_though_the_command_goes_on(repository: Repository) -> None:
    assert "Ask the user to run `git init`" in (await repository.run("git init 2>&1 | cat")).stdout
    repository.begin()
    repository.git("branch", "side")

    assert "cannot be written: .git/config. They" in (await repository.run("git branch -d side")).stdout
    (repository.folder / "notes").write_text(".git/config\nRead-only file system\n")
    assert "[sandbox" not in (await repository.run("cat notes")).stdout


async def test_what_packages_bring_is_not_told_of(repository: Repository) -> None:
    result = await repository.run(
        "mkdir -p v/site-packages node_modules/x; touch v/site-packages/a.pth node_modules/x/.npmrc"
    )

    assert "[sandbox" not in result.stdout


async def test_what_is_new_in_deeper_folders_is_told_of(repository: Repository) -> None:
    (repository.folder / "old").mkdir()
    (repository.folder / "old" / ".envrc").write_text("mine\n")

    result = await repository.run("mkdir -p sub/.vscode; echo x > sub/.envrc; echo x > a.pth; echo x > old/.envrc")

    assert (
        "There are new files that programs run or load automatically: a.pth, sub/.envrc, sub/.vscode. " in result.stdout
    )
    assert (repository.folder / "old" / ".envrc").read_text() == "mine\n"


async def test_what_is_there_and_acts_can_be_read_only(repository: Repository) -> None:
    files = [repository.folder / name for name in (".vscode/settings.json", ".mcp.json", ".npmrc", "x.code-workspace")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("mine\n")

    tries = "cat $n; echo x > $n; rm -f $n; echo x > gone; mv -f gone $n; mv $n gone"
    result = await repository.run(f"for n in .vscode/settings.json .mcp.json .npmrc *.code-workspace; do {tries}; done")

    assert result.stdout.count("mine\n") == len(files)
    assert [file.read_text() for file in files] == ["mine\n"] * len(files)


async def test_a_link_that_acts_is_as_it_was_after_the_command(repository: Repository) -> None:
    (repository.folder / "conf").mkdir()
    (repository.folder / "conf" / "settings.json").write_text("mine\n")
    (repository.folder / ".vscode").symlink_to("conf")

    result = await repository.run(
        "echo x > .vscode/settings.json; rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json"
    )

    assert (repository.folder / ".vscode").readlink() == Path("conf")
    assert (repository.folder / "conf" / "settings.json").read_text() == "mine\n"
    assert "The link .vscode was put back" in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        "rm conf; mkdir conf; echo x > conf/tasks.json",
        "rm conf; ln -s a conf; mkdir a; echo x > a/tasks.json",
        "mv deep d; mkdir -p deep/real; echo x > deep/real/tasks.json",
        "mkdir missing; echo x > missing/tasks.json",
        "echo x > missing",
    ],
)
async def test_what_a_link_that_acts_leads_to_is_as_it_was_after_the_command(
    repository: Repository, command: str
) -> None:
    (repository.folder / "deep" / "real").mkdir(parents=True)
    (repository.folder / "conf").symlink_to("deep/real")
    (repository.folder / ".vscode").symlink_to("conf")
    (repository.folder / ".claude").symlink_to("missing")
    (repository.folder / ".idea").symlink_to(".idea")

    await repository.run(command)

    assert list((repository.folder / ".vscode").iterdir()) == []
    assert not (repository.folder / ".claude").exists()


@pytest.mark.parametrize("name", [*VERSION_CONTROL])
async def test_repositories_of_others_than_git_run_nothing_later(repository: Repository, name: str) -> None:
    files = [repository.folder / name / each for each in VERSION_CONTROL[name]]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
    files[0].write_text("mine\n")

    result = await repository.run(
        f"for f in {' '.join(map(str, files))}; do echo x > $f; rm -f $f; echo x > new; mv -f new $f; done; "
        f"mv {name} gone; mkdir -p sub/{name}; touch {name}/data"
    )

    assert [file.read_text() for file in files if file.exists()] == ["mine\n"]
    assert (repository.folder / name / "data").exists(), "work with it goes on"
    assert f"run or load automatically: sub/{name}. " in result.stdout
