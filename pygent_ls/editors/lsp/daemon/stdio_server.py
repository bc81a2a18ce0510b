"""The daemon on standard input and output, from the first frame to the exit code."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.transport.stdio import UNTAPPED, FrameReader, FrameWriter
from pygent_ls.editors.standard_streams import claim_standard_streams

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.transport.recording import Trace
    from pygent_ls.editors.ports import ReadSettings

UNWINDING_S = 0.1
"""Time limit for the remaining tasks after shutdown."""

LAST_WORDS_S = 0.3
"""Time limit for the editor to read the last messages."""

GONE_S = 2.8
"""Time from the end of the input to the end of the process, even if the event loop is blocked; slightly more than the
two limits above and `CLOSING_S`."""

PARENT_POLL_S = 1.0
"""Interval between checks of the parent process, on systems that cannot report its end."""


def serve(read_settings: ReadSettings, trace: Trace | None = None) -> int:
    """Speak LSP on standard input and output until the editor disconnects. `trace` records the wire.

    Returns the exit code: 0 after `shutdown`, 1 without.
    """
    descriptor_in, descriptor_out = claim_standard_streams()
    # Not closed: closing waits for threads that a tool may have left behind, and the process ends anyway.
    return asyncio.Runner().run(_serve(read_settings, descriptor_in, descriptor_out, trace))


async def _serve(read_settings: ReadSettings, descriptor_in: int, descriptor_out: int, trace: Trace | None) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int = 1) -> None:
        if not ended.done():
            ended.set_result(code)
            end_at_last()

    tap = trace.tap() if trace else UNTAPPED
    writer = FrameWriter(descriptor_out, loop, on_broken=end, tap=tap)
    server = PygentServer(read_settings, writer)
    endpoint = server.endpoint
    endpoint.on_exit = end
    server.on_process_id = lambda pid: watch_process(pid, end)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, end)
    reader = FrameReader(
        stream=os.fdopen(descriptor_in, "rb"),
        loop=loop,
        on_message=endpoint.receive,
        on_end=lambda: end(0 if endpoint.phase == "shutdown" else 1),
        on_end_at_once=end_at_last,
        tap=tap,
    )
    reader.start()
    try:
        return await ended
    finally:
        writer.stop_waiting()
        await server.close()
        await cancel_the_rest()
        writer.close(LAST_WORDS_S)
        if trace:
            trace.close(LAST_WORDS_S)


def end_at_last() -> None:
    """End the process after `GONE_S`, with a watchdog that needs neither the event loop nor the interpreter's lock.

    Writes the stack of each thread to standard error.
    """
    faulthandler.dump_traceback_later(GONE_S, exit=True)


async def cancel_the_rest() -> None:
    """Cancel the remaining tasks and wait for them for a short time. Requests whose tasks have ended are answered."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=UNWINDING_S)
    else:
        await asyncio.sleep(0)  # a callback answers for a task that has just ended


def watch_process(pid: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    """Call `on_gone` when a process has ended, even if another process still holds standard input open.

    Returns a function that stops watching.
    """
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        on_gone()
        return _nothing
    except (OverflowError, ValueError):  # not a valid process id
        return _nothing
    except (AttributeError, OSError):  # not Linux, or an old kernel
        return _poll_process(pid, on_gone)

    def gone() -> None:
        loop.remove_reader(descriptor)
        on_gone()

    def stop() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)

    loop.add_reader(descriptor, gone)
    return stop


def _poll_process(pid: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()

    def look() -> None:
        nonlocal timer
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            on_gone()
            return
        except PermissionError:
            pass
        timer = loop.call_later(PARENT_POLL_S, look)

    def stop() -> None:
        timer.cancel()

    timer = loop.call_soon(look)
    return stop


def _nothing() -> None:
    """Do nothing, because no process is watched."""
