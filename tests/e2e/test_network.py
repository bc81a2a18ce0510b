"""Whom a daemon talks to."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.conftest import WITH_HTTP, Rig
from tests.e2e.lsp_client import EditorClient
from tests.model_server import Step

LISTENING = "0A"
"""A TCP socket's state, as the kernel writes it."""


@WITH_HTTP
async def test_the_daemon_talks_to_the_provider_alone_and_listens_nowhere(rig: Rig) -> None:
    rig.model.play(Step(text="Hello."))
    await rig.editor.turn("hi")

    sockets = internet_sockets(process_id(rig.editor))

    assert [peer for peer, state in sockets if state == LISTENING] == []
    assert {peer for peer, _ in sockets} == {("0100007F", rig.server.port)}


def process_id(editor: EditorClient) -> int:
    return editor.client._server.pid


def internet_sockets(pid: int) -> list[tuple[tuple[str, int], str]]:
    """The peer's address (hexadecimal, as the kernel writes it) and port, and the state, of each socket."""
    links = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()]
    own = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    found: list[tuple[tuple[str, int], str]] = []
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]:
            _, _, peer, state, _, _, _, _, _, inode, *_ = line.split()
            if inode in own:
                address, _, port = peer.partition(":")
                found.append(((address, int(port, 16)), state))
    return found
