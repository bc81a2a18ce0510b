"""`pygent-ls acp`, from the first message to the exit code.

`initialize` is answered before the core and the SDK are loaded, which takes a second.
"""

from __future__ import annotations

import asyncio
import importlib
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pygent_ls.editors.acp.capabilities import client_features, initialize_result
from pygent_ls.editors.acp.transport import LineTransport
from pygent_ls.editors.exit_codes import CANCELLED, DONE
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.editors.shutdown import Closable, close, stop_at_signal
from pygent_ls.editors.standard_streams import claim_standard_streams

if TYPE_CHECKING:
    from pygent_ls.editors.ports import ReadSettings

LAST_WORDS_S = 0.5
"""Time limit for the client to read the last messages."""


Load = Callable[[], tuple["ReadSettings", Closable]]
"""Imports the core. Returns the reader of settings, and what the cores of all sessions share."""


def serve(load: Load) -> int:
    """Serve one client until standard input ends or a signal arrives; return the exit code."""
    descriptor_in, descriptor_out = claim_standard_streams()
    try:
        return asyncio.run(_served(load, descriptor_in, descriptor_out))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return CANCELLED


async def _served(load: Load, descriptor_in: int, descriptor_out: int) -> int:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGTERM, signal.SIGHUP):  # asyncio.run handles SIGINT
        asyncio.get_running_loop().add_signal_handler(number, partial(stop_at_signal, main))

    def stop(_: OSError) -> None:
        main.cancel()

    writer = LineWriter(descriptor_out, stop)
    transport = LineTransport(descriptor_in, writer)
    try:
        greeting = await _answer_initialize(transport)
        await asyncio.to_thread(importlib.import_module, "acp")
        read_settings, shared = await asyncio.to_thread(load)
        from pygent_ls.editors.acp.agent import AcpAgent

        agent = AcpAgent(read_settings=read_settings, writer=writer, features=client_features(greeting))
        try:
            await agent.run(transport)
        finally:
            await agent.close()
            await close(shared)
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await writer.written()
    return DONE


async def _answer_initialize(transport: LineTransport) -> object:
    """Answer `initialize`, if it comes first as it should, and return its parameters."""
    message = await transport.receive()
    if message is None:
        return None
    if message.get("method") != "initialize" or "id" not in message:
        transport.put_back(message)
        return None
    params: object = message.get("params")
    transport.write({"jsonrpc": "2.0", "id": message["id"], "result": initialize_result(params)})
    return params
