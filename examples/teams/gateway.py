"""A gateway for a team: PostgreSQL, a LiteLLM proxy, and a virtual key with a budget for each user.

    UPSTREAM_URL=https://api.openai.com/v1 UPSTREAM_KEY=sk-… python examples/teams/gateway.py

It prints its address and the keys, and runs until Ctrl-C or SIGTERM. Everything is in a temporary folder, which is
removed at the end. It needs PostgreSQL (Debian: postgresql) and `make litellm-proxy`.
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
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

PROXY = HERE.parents[1] / ".venv" / "litellm-proxy"
"""Where `make litellm-proxy` puts the proxy and the query engine."""

NAME = "litellm"
"""Name of the database and of its user."""

START_S = 200.0
STOP_S = 20.0


@dataclass(frozen=True, kw_only=True)
class User:
    """A member of the team."""

    name: str
    budget_usd: float
    models: Sequence[str]


USERS = (
    User(name="ada", budget_usd=5.0, models=("coder", "coder-large")),
    User(name="ben", budget_usd=0.001, models=("coder",)),
)


@contextmanager
def running(command: Sequence[str | Path], ready: str, stop: signal.Signals, **options: Any) -> Generator[None]:
    """Run a program from the moment it writes `ready`; at the end, send it the signal `stop` and wait for it."""
    process = subprocess.Popen(
        [str(each) for each in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C is for this program, which ends the others in order
        **options,
    )
    has_begun, written = threading.Event(), list[str]()

    def read() -> None:
        for line in process.stdout or ():
            written[:] = [*written[-20:], line]
            if ready in line:
                has_begun.set()
        has_begun.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        if not has_begun.wait(START_S) or not any(ready in line for line in written):
            raise SystemExit(f"{command[0]} does not start:\n{''.join(written)}")
        yield
    finally:
        process.send_signal(stop)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        with suppress(ProcessLookupError):  # what it has started may still be there
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(STOP_S)


def postgresql() -> Path:
    """Return the folder of PostgreSQL's programs; Debian has them in no folder of PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        raise SystemExit("PostgreSQL is missing. Install it (Debian and Ubuntu: apt install postgresql).")
    return folders[-1]


def account() -> Mapping[str, Any]:
    """Return the options that run a program as an account without rights, if this is root: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    names = {each.pw_name for each in pwd.getpwall()}
    found = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": ()}


@contextmanager
def database(folder: Path) -> Generator[str]:
    """Run a new PostgreSQL on a socket in the folder, with LiteLLM's tables, and yield its URL."""
    programs, as_account = postgresql(), account()
    sockets = folder / "postgresql"
    sockets.mkdir(mode=0o700)
    if as_account:
        folder.chmod(0o711)
        os.chown(sockets, as_account["user"], as_account["group"])
    data = sockets / "data"
    create = [programs / "initdb", "--no-sync", "--auth=trust", f"--username={NAME}", "-D", data]
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL, cwd=sockets, **as_account)
    serve = [programs / "postgres", "-D", data, "-k", sockets, "-c", "listen_addresses=", "-c", "fsync=off"]
    ready = "database system is ready to accept connections"
    with running(serve, ready, signal.SIGINT, cwd=sockets, **as_account):
        connect = [programs / "psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-h", sockets, "-U", NAME]
        subprocess.run([*connect, "-d", "postgres", "-c", f"CREATE DATABASE {NAME}"], check=True)
        (migrations,) = PROXY.glob("lib/python*/site-packages/litellm_proxy_extras/migrations")
        tables = "\n;".join(each.read_text() for each in sorted(migrations.glob("*/migration.sql")))
        subprocess.run([*connect, "-d", NAME], check=True, input=tables, text=True, capture_output=True)
        yield f"postgresql://{NAME}@localhost/{NAME}?host={sockets}"


@contextmanager
def gateway(folder: Path, config: Path, port: int, database_url: str, master_key: str) -> Generator[str]:
    """Run the proxy and yield its address."""
    engine = PROXY / "query-engine"
    environment = {
        **os.environ,
        "PATH": f"{PROXY / 'bin'}:{os.environ['PATH']}",
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
    command = [PROXY / "bin" / "litellm", "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    with running(command, "Uvicorn running on", signal.SIGTERM, env=environment, cwd=folder):
        yield f"http://127.0.0.1:{port}"


def make_key(port: int, master_key: str, user: User) -> str:
    """Return a new virtual key of the user, with the user's budget and models."""
    wanted = {"user_id": user.name, "key_alias": user.name, "max_budget": user.budget_usd, "models": user.models}
    connection = HTTPConnection("127.0.0.1", port, timeout=START_S)
    headers = {"Authorization": f"Bearer {master_key}", "Content-Type": "application/json"}
    connection.request("POST", "/key/generate", json.dumps(wanted), headers)
    answered = json.load(connection.getresponse())
    connection.close()
    return str(answered["key"])


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
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    master_key = os.environ.get("LITELLM_MASTER_KEY") or f"sk-{secrets.token_hex(16)}"
    port = options.port or free_port()
    with (
        suppress(KeyboardInterrupt),
        tempfile.TemporaryDirectory(prefix="gateway-") as folder,
        database(Path(folder)) as database_url,
        gateway(Path(folder), options.config.resolve(), port, database_url, master_key) as url,
    ):
        print(f"gateway  {url}\nmaster   {master_key}")
        for user in USERS:
            key = make_key(port, master_key, user)
            print(f"{user.name:8} {key}  {user.budget_usd} $  {', '.join(user.models)}")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main()
