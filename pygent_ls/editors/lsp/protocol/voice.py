"""`pygent/voice/*`: parameters, results and notifications."""

from typing import Literal, NotRequired, TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params

VoiceSourceName = Literal["microphone", "loopback"]


class VoiceStartParams(Params, frozen=True, kw_only=True):
    """`pygent/voice/start`: each utterance becomes a prompt of the session. `loopback` is what the machine plays."""

    session_id: str
    source: VoiceSourceName = "microphone"


class VoiceStatusOut(TypedDict):
    """The result of `pygent/voice/start`, `status` and `stop`, and the notification `pygent/voice/changed`, which
    follows when voice input has started or stopped.

    If `state` is `off`, the other fields tell how it was last. `text` is what was heard of an utterance that is not
    complete, and so was not sent; `error` says why voice input stopped by itself, which the user was told.
    """

    state: Literal["off", "starting", "listening"]
    sessionId: str | None
    source: VoiceSourceName
    server: str | None
    text: str
    error: NotRequired[str]


class VoiceUpdateOut(TypedDict):
    """The notification `pygent/voice/update`: what was heard. If `final` is true, it is a whole utterance, which was
    queued as a prompt of the session; else all that is heard of it so far."""

    sessionId: str
    text: str
    final: bool
