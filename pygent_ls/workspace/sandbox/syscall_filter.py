"""System call filter for commands in the sandbox, as a program that the kernel runs.

A user namespace of its own would give a command every capability in it, and with them access to parts of the kernel
that otherwise only root reaches. Kernel keyrings and sockets to a virtual machine's host belong to no namespace. Calls
that a filter cannot read (those queued in memory, and on 32-bit x86 the arguments of `socketcall`) are refused
completely.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from msgspec import Struct

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NR, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NEW_USER_NAMESPACE = 0x10000000
_FAMILIES = (1, 2, 10, 16)
"""Allowed socket families: Unix, IPv4, IPv6, and netlink (kernel queries about the network)."""
_NEW_SOCKET = 1
_X32 = 0x40000000


class _Calls(Struct, frozen=True, kw_only=True):
    """Numbers of system calls on one architecture."""

    clone: int
    clone3: int
    unshare: int
    setns: int
    socket: int
    keys: tuple[int, int, int]
    socketcall: int | None = None
    queues: tuple[int, int, int] = (425, 426, 427)
    """Calls of `io_uring`."""


_ARCHITECTURES = {
    0xC000003E: _Calls(clone=56, clone3=435, unshare=272, setns=308, socket=41, keys=(248, 249, 250)),
    0x40000003: _Calls(clone=120, clone3=435, unshare=310, setns=346, socket=359, keys=(286, 287, 288), socketcall=102),
    0xC00000B7: _Calls(clone=220, clone3=435, unshare=97, setns=268, socket=198, keys=(217, 218, 219)),
    0x40000028: _Calls(clone=120, clone3=435, unshare=337, setns=375, socket=281, keys=(309, 310, 311)),
}
"""System calls by the kernel's number of the architecture: x86-64, its 32-bit variant, 64-bit ARM and 32-bit ARM."""

MACHINES = frozenset({"x86_64", "aarch64"})
"""Supported machines, as named by `os.uname`."""


def program() -> bytes:
    """Return the filter for bubblewrap's `--seccomp`. `clone3` is reported as missing, so that programs use `clone`,
    whose flags a filter can read; all calls of unlisted architectures are refused.
    """
    code = [_statement(_LOAD, _ARCH)]
    for architecture, calls in _ARCHITECTURES.items():
        body = _body(calls, has_x32=architecture == 0xC000003E)
        code += [_jump(_EQUAL, architecture, 0, len(body)), *body]
    return b"".join([*code, _refuse(_ENOSYS)])


def _body(calls: _Calls, *, has_x32: bool) -> Sequence[bytes]:
    code = [_statement(_LOAD, _NR)]
    if has_x32:
        code += [_jump(_ANY_BIT, _X32, 0, 1), _refuse(_ENOSYS)]
    for number in (calls.setns, *calls.keys):
        code += [_jump(_EQUAL, number, 0, 1), _refuse(_EPERM)]
    for number in (calls.clone3, *calls.queues):
        code += [_jump(_EQUAL, number, 0, 1), _refuse(_ENOSYS)]
    for number in (calls.clone, calls.unshare):
        flags = [_statement(_LOAD, _FIRST_ARGUMENT), _jump(_ANY_BIT, _NEW_USER_NAMESPACE, 0, 1), _refuse(_EPERM)]
        code += [_jump(_EQUAL, number, 0, len(flags) + 1), *flags, _statement(_RETURN, _ALLOW)]
    if calls.socketcall is not None:
        first = [_statement(_LOAD, _FIRST_ARGUMENT), _jump(_EQUAL, _NEW_SOCKET, 0, 1), _refuse(_EAFNOSUPPORT)]
        code += [_jump(_EQUAL, calls.socketcall, 0, len(first) + 1), *first, _statement(_RETURN, _ALLOW)]
    known = [_jump(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    family = [_statement(_LOAD, _FIRST_ARGUMENT), *known, _refuse(_EAFNOSUPPORT)]
    return [*code, _jump(_EQUAL, calls.socket, 0, len(family)), *family, _statement(_RETURN, _ALLOW)]


def _statement(code: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, 0, 0, value)


def _jump(code: int, value: int, yes: int, no: int) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(error: int) -> bytes:
    return _statement(_RETURN, _ERROR | error)
