"""A gateway for a team: PostgreSQL, a LiteLLM proxy, and a virtual key with a budget for each user.

    UPSTREAM_URL=https://api.openai.com/v1 UPSTREAM_KEY=sk-… python examples/teams/gateway.py

It prints its address and the keys, and runs until it gets Ctrl-C or SIGTERM. Everything is in a temporary folder, which is removed
at the end. It needs Debian's package postgresql, and `make litellm-proxy`.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[1] / ".venv" / "litellm-proxy"
"""Where `make litellm-proxy` puts the proxy."""

NAME = "litellm"
START_S = 90.0
STOP_S = 20.0


@dataclass(frozen=True, kw_only=True)
class User:
    """A member of the team."""

    name: str
    budget_usd: float
    models: Sequence[str]


USERS = (
    User(name="ada", budget_usd=5.0, models=("coder", "coder-large")),
    User(name="ben", budget_usd=0.01, models=("coder",)),
)


@contextmanager
def running(
    command: Sequence[str | Path], ready: str, *, stop: signal.Signals, account: str | None = None, **options: object
) -> Generator[None]:
    """Run a program in the background from the moment it writes `ready`; end it, and what it has started, at the end."""
    process = subprocess.Popen(
        [str(each) for each in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C is for this program, which ends the others in order
        **_as_account(account),
        **options,  # type: ignore[arg-type]
    )
    is_ready, last = threading.Event(), list[str]()

    def read() -> None:
        for line in process.stdout or ():
            last[:] = [*last[-20:], line]
            if ready in line:
                is_ready.set()
        is_ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        if not is_ready.wait(START_S) or process.poll() is not None:
            raise SystemExit(f"{command[0]} does not start:\n{''.join(last)}")
        yield
    finally:
        process.send_signal(stop)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        reader.join(STOP_S)


def _as_account(account: str | None) -> dict[str, object]:
    """Return the options that run a program as another account; `None` is the own one."""
    if account is None:
        return {}
    return {"user": account, "group": pwd.getpwnam(account).pw_gid, "extra_groups": ()}


def _account() -> str | None:
    """Return an account without rights for PostgreSQL, which does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def database(folder: Path) -> Generator[str]:
    """Run a new PostgreSQL on a socket in the folder, with LiteLLM's tables, and yield its URL."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    if programs is None:
        raise SystemExit("PostgreSQL is missing: apt install postgresql")
    account, data = _account(), folder / "postgresql"
    data.mkdir(mode=0o700)
    if account:
        folder.chmod(0o755)
        shutil.chown(data, account)
    files = data / "files"
    create = [programs / "initdb", "--no-sync", "--auth=trust", f"--username={NAME}", "-D", files]
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL, cwd=data, **_as_account(account))  # type: ignore[call-overload]
    serve = [programs / "postgres", "-D", files, "-k", data, "-c", "listen_addresses=", "-c", "fsync=off"]
    ready = "database system is ready to accept connections"
    with running(serve, ready, stop=signal.SIGINT, account=account, cwd=data):
        connect = [programs / "psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-h", data, "-U", NAME]
        subprocess.run([*connect, "-d", "postgres", "-c", f"CREATE DATABASE {NAME}"], check=True)
        (migrations,) = ENVIRONMENT.glob("lib/python*/site-packages/litellm_proxy_extras/migrations")
        script = "\n;".join(each.read_text() for each in sorted(migrations.glob("*/migration.sql")))
        options = {"PGOPTIONS": "-c client_min_messages=warning"}
        quiet = subprocess.run(
            [*connect, "-d", NAME], input=script, text=True, env={**os.environ, **options}, capture_output=True
        )
        if quiet.returncode != 0:
            raise SystemExit(f"LiteLLM's tables cannot be made: {quiet.stderr}")
        yield f"postgresql://{NAME}@localhost/{NAME}?host={data}"


@contextmanager
def gateway(folder: Path, config: Path, port: int, database_url: str, master_key: str) -> Generator[str]:
    """Run the proxy and yield its address."""
    engine = ENVIRONMENT / "query-engine"
    environment = {
        **os.environ,
        "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "DATABASE_URL": database_url,
        "LITELLM_MASTER_KEY": master_key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "PRISMA_BINARY_CACHE_DIR": str(engine),
        "PRISMA_QUERY_ENGINE_BINARY": str(engine / "query-engine"),
        "PRISMA_SCHEMA_ENGINE_BINARY": str(engine / "query-engine"),
        "CHECKPOINT_DISABLE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    command = [ENVIRONMENT / "bin" / "litellm", "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    with running(command, "Uvicorn running on", stop=signal.SIGTERM, env=environment, cwd=folder):
        yield f"http://127.0.0.1:{port}"


def make_key(url: str, master_key: str, user: User) -> str:
    """Return a new virtual key of the user, with the user's budget and models."""
    body = {"user_id": user.name, "key_alias": user.name, "max_budget": user.budget_usd, "models": user.models}
    return str(ask(url, "/key/generate", master_key, body)["key"])


def ask(url: str, path: str, key: str, body: Mapping[str, object] | None = None) -> Mapping[str, object]:
    """Return the gateway's answer to a request."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, json.dumps(body).encode() if body else None, headers)
    with urllib.request.urlopen(request, timeout=START_S) as response:
        return dict(json.load(response))


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    """Run the gateway until a signal comes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, default=HERE / "config.yaml", help="the models, in LiteLLM's format")
    parser.add_argument("--port", type=int, default=4000, help="0 takes a free one")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    master_key = os.environ.get("LITELLM_MASTER_KEY") or f"sk-{secrets.token_hex(16)}"
    port, config = options.port or free_port(), options.config.resolve()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="gateway-") as folder,
            database(Path(folder)) as database_url,
            gateway(Path(folder), config, port, database_url, master_key) as url,
        ):
            print(f"gateway  {url}\nmaster   {master_key}")
            for user in USERS:
                print(f"{user.name:8} {make_key(url, master_key, user)}  {user.budget_usd} $  {', '.join(user.models)}")
            sys.stdout.flush()
            signal.pause()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
