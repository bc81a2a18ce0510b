"""Environment of Harbor that needs no Docker: a folder as root, with the system's own folders read-only in it.

    harbor run -e evaluation.bubblewrap:BubblewrapEnvironment …

It builds no image, so it refuses tasks with a Dockerfile. The programs that a task finds are those of this machine.
Nothing that a command starts outlives it. A user is only a number to the command: all files belong to it. Limits of
processor and memory are not applied.
"""

from __future__ import annotations

import asyncio
import pwd
import shlex
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO, override

from harbor.environments.base import BaseEnvironment, ExecResult, SandboxBuildFailedError, transfer_tar_filter
from harbor.environments.capabilities import EnvironmentCapabilities

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc")
"""Folders of the machine in the sandbox. A link stays a link."""

NAME_SERVICE = "/run/systemd/resolve"
"""Where /etc/resolv.conf of many systems leads."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class BubblewrapEnvironment(BaseEnvironment):
    """One trial's sandbox. Files stay from command to command, processes do not."""

    _root: Path | None = None

    @staticmethod
    @override
    def type() -> str:
        return "bubblewrap"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True, mounted=True)

    @override
    def _validate_definition(self) -> None:
        """Accept any definition: what is raised here ends the whole job."""

    @override
    async def start(self, force_build: bool) -> None:
        for name in ("Dockerfile", "docker-compose.yaml"):
            if (self.environment_dir / name).exists():
                raise SandboxBuildFailedError(f"bubblewrap builds no image, and this task has a {name}")
        self._root = Path(tempfile.mkdtemp(prefix="harbor-bubblewrap-"))
        self._root.chmod(0o755)
        for name in SYSTEM:
            if (system := Path("/", name)).is_symlink():
                (self._root / name).symlink_to(system.readlink())
        for name in ("root", "var", "opt", "home", "run"):
            (self._root / name).mkdir()
        (self._root / "tmp").mkdir(mode=0o1777)
        self._root.joinpath(self._workdir.lstrip("/")).mkdir(parents=True, exist_ok=True)
        made = await self.ensure_dirs(self._mount_targets(writable_only=True))
        if made is not None and made.return_code:
            raise RuntimeError(f"bubblewrap does not work here: {made.stderr}")
        await self._upload_environment_dir_after_start()

    @override
    async def stop(self, delete: bool) -> None:
        if self._root is not None and delete:
            await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        identity = _identity(self._resolve_user(user))
        variables = {"PATH": PATH, "HOME": identity.pw_dir, "LANG": "C.UTF-8", **(self._merge_env(env) or {})}
        arguments = [*self._sandbox(identity), "--chdir", cwd or self._workdir, "bash", "-c", command]
        try:
            async with asyncio.timeout(timeout_sec):
                return await _run(arguments, variables)
        except TimeoutError as error:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from error

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = PurePosixPath(target_path)
        await self._unpack(Path(source_path), target.name, str(target.parent))

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self._unpack(Path(source_dir), ".", target_dir)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        with Path(target_path).open("wb") as target:
            await self._transfer(f"cat -- {shlex.quote(source_path)}", output=target)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        with tempfile.TemporaryFile() as archive:
            await self._transfer(f"tar -c -C {shlex.quote(source_dir)} .", output=archive)
            archive.seek(0)
            with tarfile.open(fileobj=archive) as members:
                members.extractall(target_dir, filter=transfer_tar_filter)

    @property
    def _workdir(self) -> str:
        return self.task_env_config.workdir or "/app"

    def _sandbox(self, identity: pwd.struct_passwd) -> list[str]:
        if self._root is None:
            raise RuntimeError("the environment was not started")
        arguments = [
            _bwrap(),
            "--die-with-parent",
            "--new-session",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
        ]
        arguments += ["--unshare-user", "--uid", str(identity.pw_uid), "--gid", str(identity.pw_gid)]
        if self._network_disabled:
            arguments += ["--unshare-net"]
        arguments += ["--bind", str(self._root), "/", "--proc", "/proc", "--dev", "/dev"]
        for name in SYSTEM:
            if (system := Path("/", name)).is_dir() and not system.is_symlink():
                arguments += ["--ro-bind", str(system), str(system)]
        arguments += ["--ro-bind-try", NAME_SERVICE, NAME_SERVICE]
        for mount in self._host_mounts:
            arguments += ["--ro-bind" if mount.get("read_only") else "--bind", mount["source"], mount["target"]]
        return arguments

    async def _unpack(self, source: Path, name: str, folder: str) -> None:
        with tempfile.TemporaryFile() as archive:
            with tarfile.open(fileobj=archive, mode="w", dereference=source.is_file()) as members:
                members.add(source, arcname=name)
            archive.seek(0)
            quoted = shlex.quote(folder)
            await self._transfer(f"mkdir -p {quoted} && tar -x --no-same-owner -C {quoted}", input=archive)

    async def _transfer(
        self, command: str, *, input: IO[bytes] | int = asyncio.subprocess.DEVNULL, output: IO[bytes] | None = None
    ) -> None:
        """Run a command whose standard input or output is a file of the host, so that no link leads out of the sandbox.

        Raises:
            RuntimeError: The command failed.
        """
        arguments = [*self._sandbox(_identity(None)), "bash", "-c", command]
        result = await _run(arguments, {"PATH": PATH}, input=input, output=output)
        if result.return_code:
            raise RuntimeError(f"{command!r} failed: {result.stderr}")


def _bwrap() -> str:
    """Return the path of bwrap, since a command's PATH is not that of this machine."""
    if (path := shutil.which("bwrap")) is None:
        raise FileNotFoundError("bwrap is missing: install bubblewrap")
    return path


def _identity(user: str | int | None) -> pwd.struct_passwd:
    name = "root" if user is None else str(user)
    return pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)


async def _run(
    arguments: list[str],
    variables: dict[str, str],
    *,
    input: IO[bytes] | int = asyncio.subprocess.DEVNULL,
    output: IO[bytes] | None = None,
) -> ExecResult:
    process = await asyncio.create_subprocess_exec(
        *arguments,
        env=variables,
        stdin=input,
        stdout=output or asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        stdout, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return ExecResult(
        stdout=(stdout or b"").decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
        return_code=process.returncode,
    )
