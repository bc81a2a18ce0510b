"""The sandbox with the real bubblewrap: what a command in it can and cannot do, and its failures."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from pathlib import Path

import pytest

from pygent_ls.agent.ports.processes import ProcessSpec, SandboxState
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.mounts import SandboxLimits, arguments
from pygent_ls.workspace.sandbox.protected_paths import Protection
from pygent_ls.workspace.sandbox.sandbox import Resources, Sandbox, SandboxMode, SandboxOptions
from pygent_ls.workspace.sandbox.visible_paths import SECRETS
from tests.workspace.programs import LIMIT_S, UP, Listener, OnceUp, runs


class Place:
    """A home, a workspace with a repository in it, and a sandbox around both."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home"
        self.folder = top / "project"
        self.outside = top / "outside"
        self.own = self.home / ".config" / "pygent-ls"
        for each in (self.folder / ".git" / "hooks", self.outside, self.own):
            each.mkdir(parents=True)
        (self.folder / ".git" / "config").write_text("[core]\n")
        (self.own / "config.toml").write_text('model = "secret-model"\n')
        self.network = False
        self.mode: SandboxMode = "auto"
        self.read: tuple[Path, ...] = ()
        self.resources = Resources()

    def secret(self, name: str, text: str = "PLUM\n") -> Path:
        """A file in the home."""
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def processes(self, *folders: Path, kind: type[LocalProcesses] = LocalProcesses) -> LocalProcesses:
        """Return processes with the sandbox around these folders, or the project's."""
        known = [folder.resolve() for folder in folders or (self.folder,)]
        options = SandboxOptions(mode=self.mode, network=self.network, read=self.read, resources=self.resources)
        sandbox = Sandbox(options, lambda: known, own=[self.own], skills=self.own / "skills")
        return kind(sandbox, hidden_variables=["ANTHROPIC_API_KEY"])

    def spec(self, command: str, *, timeout_s: float = LIMIT_S) -> ProcessSpec:
        return ProcessSpec(argv=("sh", "-c", command), cwd=self.folder, timeout_s=timeout_s, sandboxed=True)

    async def run(self, command: str) -> str:
        """What a command in the sandbox writes, on both outputs."""
        return (await self.processes().run(self.spec(command), Listener())).stdout


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path.resolve())
    monkeypatch.setenv("HOME", str(made.home))
    return made


async def test_bubblewrap_works_where_the_tests_run(place: Place) -> None:
    assert await place.processes().sandbox() == SandboxState(kind="on")


async def test_the_workspace_can_be_written_and_nothing_else(place: Place) -> None:
    inside = "echo in > in.txt && echo in > /tmp/t && cat in.txt /tmp/t"
    said = await place.run(f"{inside}; for f in {place.outside}/x {place.home}/x /etc/x /x; do echo out > $f; done")

    assert said.startswith("in\nin\n")
    assert (place.folder / "in.txt").read_text() == "in\n"
    assert not any(path.exists() for path in (place.outside / "x", place.home / "x", Path("/etc/x"), Path("/x")))


async def test_the_private_tmp_lasts_from_one_command_to_the_next_and_is_not_the_machines(place: Place) -> None:
    processes = place.processes()
    await processes.run(place.spec("echo kept > /tmp/pygent-note"))

    assert (await processes.run(place.spec("cat /tmp/pygent-note"))).stdout == "kept\n"
    assert (await place.processes().run(place.spec("cat /tmp/pygent-note"))).exit_code != 0


async def test_commands_that_begin_together_in_a_new_sandbox_share_it(place: Place) -> None:
    for _ in range(5):
        processes = place.processes()

        said = await asyncio.gather(*(processes.run(place.spec(f"echo {n}")) for n in range(6)))

        assert [result.stdout for result in said] == [f"{n}\n" for n in range(6)]


@pytest.mark.parametrize("shows_home", [False, True])
async def test_scripts_of_the_users_skills_run_and_the_settings_around_them_stay_hidden(
    place: Place, shows_home: bool
) -> None:
    linked = place.home / "dotfiles" / "linked"
    for skill in (place.own / "skills" / "notes", linked):
        (skill / "scripts").mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\ndescription: Notes\n---\n")
        (skill / "scripts" / "run.sh").write_text(f"echo {skill.name} ran\n")
    (place.own / "skills" / "linked").symlink_to(linked)
    (place.own / "skills" / "draft").mkdir()
    place.read = (place.home,) if shows_home else ()

    skills = place.own / "skills"
    said = await place.run(
        f"sh {skills}/notes/scripts/run.sh; sh {skills}/linked/scripts/run.sh; ls {skills}; "
        f"cat {place.own}/config.toml; echo x > {skills}/notes/SKILL.md"
    )

    assert said.startswith("notes ran\nlinked ran\nlinked\nnotes\n")
    assert "secret-model" not in said
    assert "Notes" in (skills / "notes" / "SKILL.md").read_text()


async def test_programs_find_a_cache_that_they_can_write(place: Place) -> None:
    script = (
        'for each in "$XDG_CACHE_HOME/uv" "$npm_config_cache"; do mkdir -p $each && touch $each/a && echo $each; done'
    )

    assert await place.run(script) == "/tmp/caches/uv\n/tmp/caches/npm\n"


@pytest.mark.parametrize("name", [*SECRETS[::19], ".ssh/id_test", ".aws/credentials", ".netrc"])
async def test_secrets_of_the_home_cannot_be_read_although_the_settings_show_the_folder(
    place: Place, name: str
) -> None:
    file = place.secret(name)
    place.secret("notes.txt", "to be read\n")
    place.read = (place.home,)

    said = await place.run(f"cat {file}; cat {place.home}/notes.txt; cat {place.own}/config.toml")

    assert "PLUM" not in said
    assert "secret-model" not in said
    assert "to be read" in said


async def test_of_the_home_only_tools_and_gits_settings_are_seen(place: Place) -> None:
    for name in ("notes.txt", "mail/inbox", ".config/app/token", ".cargo/credentials.toml", ".npmrc", ".docker/sock"):
        place.secret(name)
    for name in (".cargo/bin/tool", ".pyenv/version", ".gitconfig", ".local/share/uv/python/lib.so"):
        place.secret(name, f"{name} is shown\n")

    said = await place.run(f"cd {place.home}; find . -type f | sort; cat .cargo/bin/tool; cat mail/inbox notes.txt")

    assert [line for line in said.splitlines() if line.startswith("./")] == [
        *("./.cargo/bin/tool", "./.cargo/credentials.toml", "./.gitconfig"),
        *("./.local/share/uv/python/lib.so", "./.pyenv/version"),
    ]
    assert ".cargo/bin/tool is shown" in said
    assert "PLUM" not in await place.run(f"cat {place.home}/.cargo/credentials.toml")


async def test_programs_on_the_path_run_also_where_links_lead_into_the_home(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = place.home / "opt" / "tool-1.0"
    for each in (tool / "bin", tool / "lib", place.home / "bin"):
        each.mkdir(parents=True)
    (tool / "lib" / "part").write_text("it works\n")
    (tool / "bin" / "tool").write_text(f"#!/bin/sh\ncat {tool}/lib/part\n")
    (tool / "bin" / "tool").chmod(0o755)
    (place.home / "bin" / "tool").symlink_to(tool / "bin" / "tool")
    place.secret("opt/tool-1.0/notes.txt")
    monkeypatch.setenv("PATH", f"{place.home}/bin:{os.environ['PATH']}")

    assert await place.run("tool") == "it works\n"
    assert "PLUM" not in await place.run(f"cat {tool}/notes.txt; ls {place.home}/* {place.home}")


async def test_the_interpreter_of_an_environment_in_the_workspace_is_seen(place: Place) -> None:
    base = place.home / "pythons" / "3.12"
    (base / "bin").mkdir(parents=True)
    (base / "bin" / "python3.12").write_text("#!/bin/sh\necho ran\n")
    (base / "bin" / "python3.12").chmod(0o755)
    (place.home / "python").symlink_to(base / "bin" / "python3.12")
    (place.folder / ".venv" / "bin").mkdir(parents=True)
    (place.folder / ".venv" / "bin" / "python").symlink_to(place.home / "python")

    assert await place.run(".venv/bin/python") == "ran\n"


@pytest.mark.parametrize("target", [".ssh/id_test", ".ssh", "mail", "mail/inbox", ".netrc", "python"])
async def test_no_link_in_the_workspace_makes_a_part_of_the_home_seen(
    place: Place, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".ssh/id_test", "mail/inbox", ".netrc", "python/notes.txt", ".local/bin/tool"):
        place.secret(name)
    monkeypatch.setenv("PATH", f"{place.folder}/.venv/bin:{place.home}/bin:{os.environ['PATH']}")
    (place.home / "bin").mkdir()
    (place.home / "bin" / "linked").symlink_to(place.folder / "cli")
    links = (".venv/bin/python", ".venv/bin/other", "venv/bin/python", "cli")
    processes = place.processes()
    await processes.run(
        place.spec(f"mkdir -p .venv/bin venv/bin; for n in {' '.join(links)}; do ln -s {place.home}/{target} $n; done")
    )

    result = await processes.run(place.spec(f"cd {place.home}; cat .ssh/* mail/* .netrc python/*; cat .local/bin/tool"))

    assert result.stdout.count("PLUM") == 1, "what is to be seen"


async def test_the_home_is_not_shown_because_a_command_runs_there(place: Place) -> None:
    place.secret("notes.txt")
    spec = ProcessSpec(argv=("cat", "notes.txt"), cwd=place.home, timeout_s=LIMIT_S, sandboxed=True)

    result = await place.processes().run(spec, Listener())

    assert "No such file" in result.stdout


async def test_a_secret_behind_a_link_and_one_in_a_workspace_that_is_the_home_are_hidden_too(place: Place) -> None:
    elsewhere = place.outside / "keys"
    elsewhere.mkdir()
    (elsewhere / "id").write_text("PLUM\n")
    (place.home / ".ssh").symlink_to(elsewhere)
    token = place.secret(".netrc")
    spec = place.spec(f"cat {elsewhere}/id {place.home}/.ssh/id {token}; echo w > {place.home}/w; cat {place.home}/w")

    result = await place.processes(place.folder, place.home).run(spec, Listener())

    assert "PLUM" not in result.stdout
    assert result.stdout.endswith("w\n")


async def test_a_link_in_the_workspace_leads_no_write_out(place: Place) -> None:
    (place.folder / "out").symlink_to(place.outside)
    (place.folder / "file").symlink_to(place.outside / "x")

    await place.run(f"echo x > out/x; echo x > file; ln -s {place.outside} deeper; echo x > deeper/y; rm -rf out/*")

    assert list(place.outside.iterdir()) == []


async def test_no_command_has_the_keys_that_the_daemon_pays_with(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "PLUM")
    monkeypatch.setenv("GITHUB_TOKEN", "PEAR")
    monkeypatch.setenv("DATABASE_URL", "kept")
    place.mode = "off"

    said = [await place.run("env")]
    place.mode = "auto"
    said.append(await place.run("env; cat /proc/*/environ"))

    assert all("PLUM" not in each and "DATABASE_URL=kept" in each for each in said)
    assert ["PEAR" in each for each in said] == [True, False], "the sandbox hides what lies in hidden files, too"


async def test_what_acts_for_the_user_cannot_be_reached(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that holds unlocked keys, with its socket in the home, and one with an abstract name."""
    names = {"path": "agent.sock", "abstract": f"\0pygent-ls-{os.getpid()}"}
    monkeypatch.chdir(place.home)  # a socket's path may have 107 bytes at most
    monkeypatch.setenv("SSH_AUTH_SOCK", str(place.home / "agent.sock"))
    with contextlib.ExitStack() as stack:
        for name in names.values():
            server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            server.bind(name)
            server.listen()
        script = "import os, socket\nos.chdir({home!r})\nfor name in {names!r}:\n"
        script += "  try: socket.socket(socket.AF_UNIX).connect(name); print('reached')\n"
        script += "  except OSError: print('no')\n"
        (place.folder / "try.py").write_text(script.format(home=str(place.home), names=list(names.values())))

        assert await place.run("python3 try.py; echo $SSH_AUTH_SOCK") == "no\nno\n\n"
        place.mode = "off"
        assert await place.run("python3 try.py") == "reached\nreached\n", "the test would see it"


async def test_no_program_gains_privileges(place: Place) -> None:
    assert await place.run("grep NoNewPrivs /proc/self/status; cat /etc/shadow | wc -c") in (
        "NoNewPrivs:\t1\n0\n",
        "NoNewPrivs:\t1\ncat: /etc/shadow: Permission denied\n0\n",
    )


async def test_there_is_a_network_only_where_the_settings_say_so(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        spec = place.spec(f'python3 -c "import socket; socket.create_connection({server.getsockname()}, 5)"')
        assert (await place.processes().run(spec)).exit_code != 0
        with pytest.raises(TimeoutError):
            server.accept()

        place.network = True
        assert (await place.processes().run(spec)).exit_code == 0
        server.accept()[0].close()


async def test_no_socket_is_seen(place: Place) -> None:
    """But those of the workspace, which it may be there to test; a read-only folder would be no obstacle."""
    with contextlib.ExitStack() as stack:
        for folder in (place.folder, place.home / ".cargo", place.home / ".colima"):
            folder.mkdir(exist_ok=True)
            server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            server.bind(str(folder / "s"))
            server.listen()

        really = "-type s -exec test -S {} \\; -print"  # covered ones look like one in their folder's list
        said = await place.run(
            f"(find / -xdev {really}; find /run /var /home /root {place.home} {really}) 2>/dev/null; true"
        )

    assert said.splitlines() == [f"{place.folder}/s"]


async def test_other_processes_are_neither_seen_nor_signalled(place: Place) -> None:
    said = await place.run(f"kill -0 {os.getpid()} && echo seen; ls /proc | grep -c '^[0-9]'")

    assert "seen" not in said
    assert int(said.splitlines()[-1]) < 10


async def test_output_arrives_while_it_runs_and_exit_codes_are_the_commands(place: Place) -> None:
    os.mkfifo(place.folder / "answer")
    listener = Listener()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(place.processes().run(place.spec("echo hm; cat answer; exit 7"), listener))
        await listener.until("hm\n")
        await asyncio.to_thread((place.folder / "answer").write_text, "42")

    assert (running.result().stdout, running.result().exit_code) == ("hm\n42", 7)


async def test_a_command_that_takes_too_long_is_asked_to_end_and_its_last_words_are_kept(place: Place) -> None:
    spec = place.spec(f"trap 'echo bye; exit 7' TERM; echo hello; {UP}; while :; do sleep 0.01; done", timeout_s=0.1)

    result = await place.processes(kind=OnceUp).run(spec)

    assert (result.stdout, result.timed_out) == ("hello\nbye\n", True)


async def test_not_even_a_process_that_left_its_group_outlives_the_command(place: Place) -> None:
    os.mkfifo(place.folder / "alive")
    reading_end = os.open(place.folder / "alive", os.O_RDONLY | os.O_NONBLOCK)

    result = await place.processes().run(place.spec("setsid sh -c 'exec 9> alive; sleep 60' & sleep 0.2; echo done"))

    assert result.stdout == "done\n"
    assert os.read(reading_end, 1) == b"", "nobody holds the pipe open any more"
    os.close(reading_end)


async def test_a_cancel_ends_everything_in_it(place: Place) -> None:
    listener, processes = Listener(), place.processes()
    task = asyncio.create_task(processes.run(place.spec("sleep 61.25 & echo up; wait"), listener))
    await listener.until("up\n")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not any_runs("sleep 61.25")


def any_runs(command: str) -> bool:
    """Whether a process of exactly this command line lives."""
    wanted = "\0".join((*command.split(), "")).encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cmdline").read_bytes() == wanted and runs(int(process.name)):
                return True
    return False


# Failures


def fake_bwrap(folder: Path, script: str) -> str:
    """A program of that name, and a PATH on which it is the first."""
    folder.mkdir(exist_ok=True)
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


async def test_where_it_cannot_be_set_up_nothing_runs_and_the_reason_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", fake_bwrap(place.outside / "bin", "echo no namespaces here >&2; exit 1"))
    processes = place.processes()

    state = await processes.sandbox()
    with pytest.raises(ToolError, match=r"would not be sandboxed.*no namespaces here"):
        await processes.run(place.spec("touch ran"))

    assert state.kind == "failed"
    assert state.reason == f"{place.outside}/bin/bwrap cannot set it up: no namespaces here"
    assert not (place.folder / "ran").exists()


async def test_where_it_is_missing_that_is_told_and_nothing_that_must_be_in_it_runs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place.outside))
    place.mode = "require"

    state = await place.processes().sandbox()
    with pytest.raises(ToolError, match="bubblewrap is not installed"):
        await place.processes().run(place.spec("true"))

    assert (state.kind, state.required) == ("missing", True)


async def test_where_it_is_off_a_command_runs_as_any_other(place: Place) -> None:
    place.mode = "off"

    await place.run(f"echo out > {place.outside}/x")

    assert (place.outside / "x").exists()
    assert await place.processes().sandbox() == SandboxState(kind="off")


async def test_a_program_that_a_command_could_have_put_there_is_not_the_sandbox(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = place.processes().find("bwrap")
    monkeypatch.setenv("PATH", fake_bwrap(place.folder / "bin", 'shift; exec "$@"'))

    assert place.processes().find("bwrap") == real


def test_later_mounts_cover_earlier_ones(tmp_path: Path) -> None:
    """The order is what protects: the folder inside the hidden one can be worked in, the rest of it not be seen."""
    home = tmp_path.resolve()
    folder = home / ".config" / "gh" / "project"
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(parents=True)
    protected: dict[Path, Protection] = {hooks: "read", hooks.parent: "pin"}
    limits = SandboxLimits(
        folders=(folder,), network=True, home=home, own=(), temporary=home / "t", protected=protected
    )

    told = arguments(limits, folder)

    mounts = [" ".join(told[at : at + 3]) for at, word in enumerate(told) if word in {"--tmpfs", "--bind", "--ro-bind"}]
    hidden = next(at for at, mount in enumerate(mounts) if mount.startswith(f"--tmpfs {home} "))
    order = [mounts.index("--ro-bind / /"), hidden, mounts.index(f"--bind {folder} {folder}")]
    order += [mounts.index(f"--bind {hooks.parent} {hooks.parent}"), mounts.index(f"--ro-bind {hooks} {hooks}")]
    assert order == sorted(order)
    assert "--unshare-net" not in told
