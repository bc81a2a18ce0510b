"""What a command in the sandbox may use up, and what it cannot reach of the kernel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.placeholders import Placeholders
from pygent_ls.workspace.sandbox.sandbox import Resources, Sandbox, SandboxOptions
from tests.workspace.programs import LIMIT_S, Listener


class Place:
    """A workspace, and limits around its commands."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.folders = [folder]
        self.sandbox = Sandbox(SandboxOptions(), lambda: self.folders)
        self.processes = LocalProcesses(self.sandbox)

    def spec(self, command: str) -> ProcessSpec:
        return ProcessSpec(argv=("bash", "-c", command), cwd=self.folder, timeout_s=LIMIT_S, sandboxed=True)

    async def run(self, command: str, resources: Resources | None = None) -> ProcessResult:
        self.sandbox.change(SandboxOptions(resources=resources or Resources()))
        return await self.processes.run(self.spec(command), Listener())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve() / "project")


async def test_a_command_that_makes_ever_more_processes_is_ended_and_the_next_one_runs(place: Place) -> None:
    bomb = "bomb() { [ $1 = 0 ] || { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; sleep 50; }; bomb 6; wait"

    result = await place.run(bomb, Resources(processes=60))

    assert result.exit_code != 0
    assert not result.timed_out
    assert "[sandbox: The command was stopped: it had more than 60 processes at once.]" in result.stdout or (
        "Resource temporarily unavailable" in result.stdout  # the kernel's own limit, for all but root
    )
    assert (await place.run("echo on")).stdout == "on\n"


@pytest.mark.parametrize(
    "taking",
    [
        'taken = bytearray(b"x") * 300_000_000',
        '[os.write(os.memfd_create("x"), bytes(100_000_000)) for _ in range(3)]',
        'open("/dev/shm/x", "wb").write(bytes(300_000_000))',
    ],
)
async def test_a_command_that_takes_too_much_memory_is_ended(place: Place, taking: str) -> None:
    hungry = f"python3 -c 'import os, time; {taking}; time.sleep(50)'"

    result = await place.run(hungry, Resources(memory_mb=200))

    assert (result.exit_code != 0, result.timed_out) == (True, False)
    assert "[sandbox: The command was stopped: it used more than 200 MB of memory.]" in result.stdout


async def test_memory_that_processes_share_counts_once(place: Place) -> None:
    fork = "taken = bytearray(b'x') * 60_000_000; import os, time; [os.fork() for _ in range(3)]; time.sleep(1.2)"

    result = await place.run(f'python3 -c "{fork}"', Resources(memory_mb=200))

    assert (result.exit_code, result.stdout) == (0, "")


async def test_no_file_grows_over_the_limit(place: Place) -> None:
    await place.run("head -c 3000000 /dev/zero > big", Resources(file_mb=1))

    assert (place.folder / "big").stat().st_size == 1_048_576


async def test_limits_cannot_be_raised(place: Place) -> None:
    result = await place.run(
        "(ulimit -f unlimited; ulimit -c 5) 2>/dev/null; ulimit -f; ulimit -c", Resources(file_mb=1)
    )

    assert result.stdout == "1024\n0\n"


async def test_ordinary_programs_meet_no_limit(place: Place) -> None:
    programs = "python3 -c 'print(1)'; node -e 'console.log(2)'; git --version >/dev/null && echo 3"

    assert (await place.run(programs)).stdout.split() == ["1", "2", "3"]


async def test_the_settings_of_the_machine_cannot_be_written(place: Place) -> None:
    script = (
        "for f in $(find /proc/sys /proc/irq /proc/bus /proc/sysrq-trigger -type f 2>/dev/null) "
        "/sys/kernel/uevent_helper; do (exec 8>>$f) 2>/dev/null && echo $f; done; true"
    )

    assert (await place.run(script)).stdout == ""


async def test_no_command_makes_a_user_namespace_or_reaches_keyrings_and_the_virtual_machines_host(
    place: Place,
) -> None:
    (place.folder / "try.py").write_text(
        "import ctypes, os, socket\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def tried(*call): return libc.syscall(*call) == -1 and os.strerror(ctypes.get_errno())\n"
        "numbers = {'x86_64': (272, 56, 435, 250), 'aarch64': (97, 220, 435, 219)}[os.uname().machine]\n"
        "user = 0x10000000\n"
        "print(tried(numbers[0], user), tried(numbers[1], user | 17, 0, 0, 0, 0), tried(numbers[2], 0, 0), sep=', ')\n"
        "print(tried(numbers[3], 0, -3, 0, 0, 0))\n"
        "try: socket.socket(40, socket.SOCK_STREAM)\n"
        "except OSError as error: print(error.strerror)\n"
    )

    said = (await place.run("python3 try.py; unshare -U true")).stdout.splitlines()

    assert said[0] == "Operation not permitted, Operation not permitted, Function not implemented"
    assert said[1:3] == ["Operation not permitted", "Address family not supported by protocol"]
    assert said[3].startswith("unshare: unshare failed")


async def test_no_way_around_the_filter_reaches_the_virtual_machines_host(place: Place) -> None:
    """Neither queued calls nor, on x86, the one call for all of sockets that 32-bit programs have."""
    (place.folder / "try.py").write_text(
        "import ctypes, mmap, os, struct\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "assert libc.syscall(425, 4, ctypes.create_string_buffer(200)) == -1\n"
        "print(os.strerror(ctypes.get_errno()), flush=True)\n"
        "if os.uname().machine == 'x86_64':\n"
        "  code, low = mmap.mmap(-1, 4096, prot=7), mmap.mmap(-1, 4096, flags=0x62, prot=3)\n"
        "  code.write(bytes.fromhex('5389f889f389d1cd805bc3'))\n"
        "  low.write(struct.pack('III', 40, 1, 0))\n"
        "  at = lambda memory: ctypes.addressof(ctypes.c_char.from_buffer(memory))\n"
        "  call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 3)(at(code))\n"
        "  print('reached' if call(102, 1, at(low)) >= 0 else 'no')\n"
    )

    said = (await place.run("python3 try.py; true")).stdout

    assert said.startswith("Function not implemented\n")
    assert "reached" not in said


async def test_programs_still_make_threads_and_processes(place: Place) -> None:
    threads = "import threading as t; [t.Thread(target=print).start() for _ in range(3)]"

    result = await place.run(f'python3 -c "{threads}"; (true | cat) && echo on')

    assert (result.exit_code, result.stdout.strip()) == (0, "on")


# What stands in the workspace while commands run


async def held(place: Place, processes: LocalProcesses) -> tuple[asyncio.Task[ProcessResult], Listener]:
    """A command that runs until `go` is written."""
    listener = Listener()
    task = asyncio.create_task(processes.run(place.spec("echo up; cat go; echo x > .envrc; mkdir .vscode/x"), listener))
    await listener.until("up\n")
    return task, listener


async def test_what_covers_names_stays_as_long_as_any_command_of_any_daemon_needs_it(place: Place) -> None:
    os.mkfifo(place.folder / "go")
    other = LocalProcesses(Sandbox(SandboxOptions(), lambda: [place.folder]))
    task, _ = await held(place, other)

    await place.run("true")
    await asyncio.to_thread((place.folder / "go").write_text, "go")
    await task

    assert [path.name for path in place.folder.iterdir()] == ["go"]


async def test_what_the_user_makes_meanwhile_stays(place: Place) -> None:
    os.mkfifo(place.folder / "go")
    task, _ = await held(place, place.processes)

    (place.folder / ".vscode" / "settings.json").write_text("mine\n")
    await asyncio.to_thread((place.folder / "go").write_text, "go")
    await task

    assert sorted(path.name for path in place.folder.iterdir()) == [".vscode", "go"]
    assert [path.name for path in (place.folder / ".vscode").iterdir()] == ["settings.json"]
    assert (place.folder / ".vscode").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("next_step", ["a command", "a turn"])
async def test_what_a_killed_daemon_left_is_removed_with_the_next_turn_or_command(place: Place, next_step: str) -> None:
    (place.folder / ".git").mkdir()
    (place.folder / ".git" / "commondir").write_text(".\n")
    (place.folder / ".git" / "commondir").chmod(0o1644)
    for name in (".vscode", ".envrc"):
        (place.folder / name).mkdir()
        (place.folder / name).chmod(0o1755)
    (place.folder / ".idea").mkdir()  # empty, and the user's own

    if next_step == "a command":
        await place.run("true")
    else:
        place.sandbox.tidy()

    assert sorted(path.name for path in place.folder.iterdir()) == [".git", ".idea"]
    assert list((place.folder / ".git").iterdir()) == []


async def test_a_command_that_is_cancelled_leaves_nothing_standing(place: Place) -> None:
    os.mkfifo(place.folder / "go")
    task, _ = await held(place, place.processes)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [path.name for path in place.folder.iterdir()] == ["go"]


async def test_what_a_background_command_planted_is_found_when_it_ends(place: Place) -> None:
    fake = "mkdir -p sub/.git; echo x > sub/.git/config; echo up; sleep 60"
    name = await place.processes.background.start("me", place.spec(fake))
    while "up" not in (await place.processes.background.read("me", name, 0.1)).output:
        pass

    said = (await place.processes.background.end("me", name)).output

    assert "[sandbox: sub/.git would make programs run outside the sandbox" in said


async def test_what_a_background_command_planted_is_found_before_git_runs_outside(place: Place) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q"], cwd=place.folder, check=True)
    command = "mkdir -p sub/.git; echo x > sub/.git/config; ln -s /etc/passwd .git/COMMIT_EDITMSG; echo up; sleep 60"
    name = await place.processes.background.start("me", place.spec(command))
    while "up" not in (await place.processes.background.read("me", name, 0.1)).output:
        pass

    outside = replace(place.spec("ls -A sub .git"), sandboxed=False)
    seen = (await place.processes.run(outside, Listener())).stdout.split()
    said = (await place.processes.background.end("me", name)).output

    assert ("COMMIT_EDITMSG" in seen, any(each.startswith(".git.untrusted-") for each in seen)) == (False, True)
    assert ("The link .git/COMMIT_EDITMSG was removed" in said, "[sandbox: sub/.git would" in said) == (True, True)


@pytest.mark.parametrize("name", ["sub/.vscode", "sub/.envrc", "sub/lib/.git", "sub/lib", "inner"])
async def test_what_is_replaced_by_a_link_while_a_command_is_set_up_leads_nowhere(place: Place, name: str) -> None:
    """As a command in the background can do it. The link leads to the same name outside and inside the sandbox."""
    home = place.folder.parent / "home"
    for each in (home, place.folder / "sub" / ".vscode", place.folder / "inner"):
        each.mkdir(parents=True)
    (home / "key").write_text("PLUM")
    (place.folder / "sub" / ".envrc").touch()
    await place.run(f"git init -q sub/lib; mkdir -p {home}")
    place.folders += [place.folder / "inner"]
    bwrap, path = shutil.which("bwrap"), place.folder / name
    assert bwrap is not None
    beginning, stay = place.sandbox.enter(bwrap, shutil.which("git"), place.folder)
    path.rename(place.folder.parent / "gone")
    path.symlink_to("../" * (name.count("/") + 1) + "home")

    command = f"cat {home}/key {path}/key; echo x > {path}/key; echo x > {home}/key"
    argv = [*beginning, "sh", "-c", command]
    done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    place.sandbox.left(stay)

    assert (done.stdout, done.returncode != 0) == ("", True)
    assert [each.read_text() for each in home.iterdir()] == ["PLUM"]


def test_nothing_that_covers_names_is_made_or_removed_behind_a_link(place: Place) -> None:
    outside = place.folder.parent / "outside"
    (outside / "hooks").mkdir(parents=True)
    (outside / "hooks").chmod(0o1755)
    (place.folder / ".git").symlink_to(outside)
    names = [place.folder / ".git" / name for name in ("hooks", "commondir", "modules")]

    placeholders = Placeholders(place.folder)
    for path in names:
        with contextlib.suppress(OSError):
            placeholders.make(path, "folder")
    placeholders.leave(names)

    assert [each.name for each in outside.iterdir()] == ["hooks"]
