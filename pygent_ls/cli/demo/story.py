"""Script of the demo: a bug, a turn that fixes it, and the proof."""

from __future__ import annotations

import os
import shlex
import shutil
import site
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from time import monotonic
from typing import Any

from pygent_ls.cli.demo.daemon import DemoDaemon, DemoError
from pygent_ls.cli.demo.editor import DemoDocument, Editor
from pygent_ls.cli.demo.screen import Screen

PROMPT = "An order of exactly 50.00 should ship for free, but it pays for shipping. Find out why, and fix it."

TYPED = "\n# TODO: gift cards\n"
"""Text that the user has typed into the open document and not saved."""

DONE, FAILED, CANCELLED = 0, 1, 130


def play() -> int:
    """Run the demo on standard output; return the exit code. Does not read or change any of the user's own files."""
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    screen = Screen(out=sys.stdout, colours=_wants_colours(), ask=input if on_terminal else None)
    try:
        with tempfile.TemporaryDirectory(prefix="pygent-demo-", ignore_cleanup_errors=True) as scratch:
            _play(screen, Path(scratch).resolve())
    except DemoError as error:
        screen.say()
        sys.stderr.write(f"pygent-ls demo: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        screen.say()
        return CANCELLED
    return DONE


def _play(screen: Screen, scratch: Path) -> None:
    """Play the script. Raises `DemoError` if it does not go as expected."""
    started = monotonic()
    folder = _copy_sample(scratch / "shop")
    daemon = DemoDaemon(
        [sys.executable, "-P", "-m", "pygent_ls"],
        folder=scratch,
        environment=_environment(scratch),
        log=scratch / "daemon.log",
    )
    try:
        editor = Editor(daemon, screen)
        with as_file(files("pygent_ls.cli.demo") / "script.jsonl") as file:
            # Flush each event at once: batched events would be shown after the prompt that follows them.
            editor.start(folder, {"model": f"scripted:{file}", "mode": "default", "streamFlushMs": 0})
            document = editor.open(folder / "cart.py")
            editor.type(document, document.text + TYPED)
            _introduce(screen, folder)
            result = editor.run_turn(PROMPT)
        editor.stop()
    finally:
        code = daemon.close()
    if screen.wants_to_stop:
        _end_early(screen)
        return
    _check(screen, document, result)
    if code != 0:
        raise DemoError(f"the daemon ended with exit code {code}")
    _conclude(screen, result, monotonic() - started)


def _copy_sample(folder: Path) -> Path:
    """Copy the sample project and make it writable."""
    folder.mkdir()
    for each in (files("pygent_ls.cli.demo") / "sample").iterdir():
        if each.is_file():
            (folder / each.name).write_bytes(each.read_bytes())
    return folder


def _environment(scratch: Path) -> dict[str, str]:
    """Return the daemon's environment: a home of its own, no user settings or keys, and a `python3` on the path."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYGENT_", "XDG_"))}
    own = {name: value for name, value in own.items() if not name.endswith("_API_KEY")}
    home = scratch / "home"
    home.mkdir()
    # Packages that pip installed for this user are found through the home folder unless this is set.
    own |= {"PYTHONUSERBASE": site.getuserbase(), "HOME": str(home)}
    own["PATH"] = f"{_python_folder(scratch)}{os.pathsep}{own.get('PATH', os.defpath)}"
    return own


def _python_folder(scratch: Path) -> Path:
    """Return a folder with a `python3`: this Python's, or a new one if this Python has another name."""
    beside = Path(sys.executable).parent
    if shutil.which("python3", path=str(beside)):
        return beside
    folder = scratch / "bin"
    folder.mkdir()
    program = folder / "python3"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def _introduce(screen: Screen, folder: Path) -> None:
    screen.say(screen.paint("pygent-ls demo: one turn, as an editor shows it", "bold"))
    screen.say(
        "The daemon is a real child process that speaks the language server protocol; this program is the editor."
    )
    screen.say("The model plays a script, so no key and no network are needed. Everything else is real.")
    screen.say()
    screen.say(f"  project  {folder}, a copy of a small sample: cart.py and its tests")
    screen.say(f"  editor   cart.py is open; its last line is not saved: {TYPED.strip()}")
    screen.say()
    screen.say(f"{screen.paint('you ›', 'cyan')} {PROMPT}")


def _end_early(screen: Screen) -> None:
    screen.say()
    screen.say("You rejected this step, so nothing was changed. A real model would learn this and try another way;")
    screen.say(f"this one only has its script. Next: {_advice()}")


def _check(screen: Screen, document: DemoDocument, result: dict[str, Any]) -> None:
    """Verify that what the demo shows is true. Raises `DemoError`."""
    if result["stopReason"] != "end_turn":
        why = result.get("error", {}).get("message", "no reason given")
        raise DemoError(f"the turn ended with {result['stopReason']}: {why}")
    verdicts = ["FAILED" if "FAILED" in each else "OK" if "\nOK" in each else "neither" for each in screen.outputs]
    if verdicts != ["FAILED", "OK"]:
        raise DemoError(f"the tests should fail first and then pass, but: {', '.join(verdicts) or 'they did not run'}")
    if not document.text.endswith(TYPED) or document.path.read_text(encoding="utf-8") != document.text:
        raise DemoError("the unsaved line was lost")


def _conclude(screen: Screen, result: dict[str, Any], seconds: float) -> None:
    changed = ", ".join(
        f"{Path(each['uri']).name} +{each['added']} −{each['removed']}" for each in result["filesChanged"]
    )
    verdict = screen.paint("tests FAILED before, OK after", "green")
    screen.say()
    screen.say(f"{verdict} · {changed} · {result['iterations']} model calls · {seconds:.1f} s")
    screen.say(f"Next: {_advice()}")


def _advice() -> str:
    command = "pygent-ls" if shutil.which("pygent-ls") else str(Path(sys.executable).with_name("pygent-ls"))
    return (
        f"{command} run 'find `TODO`' in one of your projects; README.md explains how to connect your editor and a "
        "model."
    )


def _wants_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
