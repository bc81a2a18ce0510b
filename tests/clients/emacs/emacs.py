"""A real Emacs on a terminal: keys go in as a person presses them; what it holds is read over its server socket."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

from tests.clients.waiting import WAIT_S
from tests.e2e.command_line import TAKE_TERMINAL

LOOK_AGAIN_S = 0.02
"""Seconds to the next look at Emacs if it shows nothing new meanwhile."""

QUITS_S = 0.5
"""Most that Emacs takes to leave what it asks and to show so."""

ROWS, COLUMNS = 40, 160

BESIDE_EMACS = ("eglot", "project", "xref", "seq", "jsonrpc", "flymake", "eldoc", "external-completion")
"""Packages of Debian that an Emacs before 29 needs for eglot; `-Q` leaves them out, and the system's own set-up."""

PACKAGES = Path("/usr/share/emacs/site-lisp/elpa")

AS_IT_IS = "(setq native-comp-deferred-compilation nil native-comp-jit-compilation nil)"
"""Else Emacs compiles to machine code what it loads, for seconds in processes beside, and anew in each new home."""

LISTEN = '(setq server-socket-dir "{folder}" server-name "emacs" server-client-instructions nil) (server-start)'


class Emacs:
    """One that runs. `eval` looks; what a user does is done with keys."""

    def __init__(self, terminal: int, process: subprocess.Popen[bytes], listening: Path) -> None:
        self.process = process
        self._terminal = terminal
        self._socket = listening
        self._shown = b""
        self._shows = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def listens(self) -> None:
        """Wait until it has read its init file, at whose end it does."""
        deadline = monotonic() + WAIT_S
        while True:
            with suppress(FileNotFoundError, ConnectionRefusedError):  # the socket is there before Emacs listens
                self._served("t")
                return
            assert self.process.poll() is None, f"Emacs has ended:\n{self.screen}"
            assert monotonic() < deadline, f"Emacs does not listen; it shows:\n{self.screen}"
            self._wait_a_moment()

    # What a user does

    def types(self, text: str) -> None:
        """Press keys; `\\x1b` before a key is Meta, `\\r` is RET."""
        os.write(self._terminal, text.encode())

    def runs(self, command: str) -> None:
        """`M-x COMMAND RET`. One that asks something is answered with `types`."""
        self.types(f"\x1bx{command}\r")

    def opens(self, path: Path) -> None:
        """`C-x C-f`, and wait until the file's buffer is current."""
        self.types("\x18\x06\x01\x0b")  # at the beginning of the folder that is proposed, which is killed
        self.types(f"{path}\r")
        self.until(f'(equal (buffer-file-name) "{path}")')

    def answers(self, question: str, choice: str) -> str:
        """Wait until a question with these words is asked, and answer it with this choice instead of the proposed one;
        return the whole question. The beginning of a choice is enough if only one choice has it."""
        asked = self.asked(question)
        if self.eval("(minibuffer-contents)", window="minibuffer"):
            self.types("\x01\x0b")  # on an empty line it is an error, and what is typed after an error is lost
        self.types(f"{choice}\t\r")
        return asked

    def asked(self, words: str) -> str:
        """Wait until a question with these words stands in the minibuffer; the whole question."""
        prompt = '(or (minibuffer-prompt) "")'
        self.until(f"(string-search {quoted(words)} {prompt})", window="minibuffer")
        return str(self.eval(prompt, window="minibuffer"))

    def quits(self) -> None:
        """Leave a question with `C-g`, again if the first one ended something else that Emacs was doing."""
        deadline = monotonic() + WAIT_S
        asks = True
        while asks:
            assert monotonic() < deadline, f"C-g leads nowhere; the screen shows:\n{self.screen}"
            with self._shows:
                self.types("\x07")
                self._shows.wait(QUITS_S)  # not to be asked meanwhile: that is what it would end
            asks = self.eval("(minibuffer-prompt)", window="minibuffer")

    def starts_over(self) -> None:
        """Leave what asks, end what runs, and begin a session."""
        if self.eval("(minibuffer-prompt)", window="minibuffer"):
            self.quits()
        self.eval(
            """(dolist (buffer (buffer-list) t)
                 (with-current-buffer buffer
                   (when (buffer-file-name)
                     (set-buffer-modified-p nil)
                     (when (eglot-managed-p) (pygent "pygent.cancel") (pygent "pygent.newSession"))
                     (kill-buffer))))"""
        )
        self.eval('(with-current-buffer "*Messages*" (let ((inhibit-read-only t)) (erase-buffer) t))')

    # What is seen of it

    def eval(self, expression: str, *, window: str = "selected") -> Any:
        """The value of an expression in the buffer of the selected window, as JSON has it. Raises AssertionError."""
        where = "(minibuffer-window)" if window == "minibuffer" else "(selected-window)"
        looked = f"(with-current-buffer (window-buffer {where}) {expression})"
        sent = f"(base64-encode-string (encode-coding-string (json-encode {looked}) 'utf-8) t)"
        value = self._served(sent)
        return json.loads(base64.b64decode(value.strip('"')))

    def until(self, expression: str, *, window: str = "selected") -> None:
        """Wait until an expression is true."""
        deadline = monotonic() + WAIT_S
        while not self.eval(f"(if {expression} t)", window=window):
            assert monotonic() < deadline, f"not {expression}; the screen shows:\n{self.screen}\n{self.messages()}"
            self._wait_a_moment()

    def text(self, path: Path) -> str:
        """What the buffer of a file holds."""
        return str(self.eval(f'(with-current-buffer (find-buffer-visiting "{path}") (buffer-string))'))

    def messages(self) -> str:
        """What the echo area has shown."""
        return str(self.eval('(with-current-buffer "*Messages*" (buffer-string))'))

    def says(self, text: str) -> None:
        """Wait until the echo area has shown a text."""
        self.until(f'(with-current-buffer "*Messages*" (string-search {quoted(text)} (buffer-string)))')

    @property
    def screen(self) -> str:
        """The last bytes that the terminal was sent."""
        return self._shown[-4000:].decode("utf-8", "replace")

    # Its end

    def ends(self) -> int:
        """`C-x C-c`, without saving; the exit code."""
        self.eval("(progn (dolist (each (buffer-list)) (with-current-buffer each (set-buffer-modified-p nil))) t)")
        self.types("\x18\x03")
        return self.process.wait(WAIT_S)

    def end_at_last(self) -> None:
        """Leave neither process nor thread, whatever happened."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        os.close(self._terminal)

    def _served(self, expression: str) -> str:
        """The value as Emacs prints it, by what emacsclient says and hears; a process for each look would cost more."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(WAIT_S)
            asked.connect(str(self._socket))
            asked.sendall(f"-eval {server_quoted(expression)}\n".encode())
            heard = b""
            while piece := asked.recv(65_536):
                heard += piece
        lines = [line.partition(" ") for line in heard.decode().splitlines()]
        printed = "".join(text for what, _, text in lines if what in {"-print", "-print-nonl"})
        assert printed, f"{expression}: {heard.decode()}"
        return printed

    def _wait_a_moment(self) -> None:
        with self._shows:
            self._shows.wait(LOOK_AGAIN_S)

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._terminal, 65_536)
            except OSError:  # EIO: how Linux tells that the other end is closed
                return
            with self._shows:
                self._shown += piece
                self._shows.notify_all()


def quoted(text: str) -> str:
    """A text as a string of Lisp."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def server_quoted(text: str) -> str:
    """A text as one word for Emacs' server."""
    for sign, word in (("&", "&&"), ("\n", "&n"), (" ", "&_")):
        text = text.replace(sign, word)
    return text


@contextmanager
def emacs(init: str, cwd: Path, environment: Mapping[str, str]) -> Generator[Emacs]:
    """Start it with this text as its init file, on a new terminal whose session it leads."""
    with tempfile.TemporaryDirectory(prefix="emacs-") as short:  # the name of a socket may have 107 bytes
        folder = Path(short)
        listens = LISTEN.format(folder=folder)
        (folder / "init.el").write_text(f"{init}\n{listens}\n", encoding="utf-8")
        screen, programs_end = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        packages = [path for name in BESIDE_EMACS for path in PACKAGES.glob(f"{name}-[0-9]*")]
        paths = [argument for path in packages for argument in ("-L", str(path))]
        try:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-S",
                    "-c",
                    TAKE_TERMINAL,
                    shutil.which("emacs") or "",
                    "-nw",
                    "-Q",
                    "--eval",
                    AS_IT_IS,
                    *paths,
                    "-l",
                    str(folder / "init.el"),
                ],
                cwd=cwd,
                env={**environment, "TERM": "ansi"},  # Emacs loads nothing for it, and asks nothing
                stdin=programs_end,
                stdout=programs_end,
                stderr=programs_end,
                start_new_session=True,
            )
        finally:
            os.close(programs_end)
        started = Emacs(screen, process, folder / "emacs")
        try:
            started.listens()
            yield started
        finally:
            started.end_at_last()
