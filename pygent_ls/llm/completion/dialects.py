"""The interfaces of providers that fill in the middle: what is sent, and where the text is in the answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from pygent_ls.agent.ports.completer import CompletionRequest, Snippet
from pygent_ls.llm.errors.answer_errors import error_in, parsed, stream_error
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.server_sent_events import SentEvent

Api = Literal["fim", "completions", "infill"]
"""`fim`: Mistral's `/fim/completions`. `completions`: OpenAI's `/completions` with a `suffix`, as DeepSeek, Ollama and
vLLM have it. `infill`: the `/infill` of llama.cpp."""

STOP = ("\n\n\n",)
"""Where a model is to stop: after two empty lines, it is about something else."""


_COMMENTS: Mapping[str, str] = {
    **dict.fromkeys((".py", ".pyi", ".rb", ".sh", ".bash", ".zsh", ".pl", ".r", ".yaml", ".yml", ".toml", ".ex"), "#"),
    **dict.fromkeys((".lua", ".sql", ".hs", ".elm"), "--"),
    **dict.fromkeys((".el", ".lisp", ".clj", ".scm"), ";;"),
    **dict.fromkeys((".tex", ".erl"), "%"),
}
"""How a comment begins, by the suffix of a file; elsewhere `//`."""


class Dialect(Struct, frozen=True, kw_only=True):
    """One interface."""

    url: Callable[[NativeTarget], str]
    body: Callable[[NativeTarget, CompletionRequest], Mapping[str, Any]]


def dialect(api: Api) -> Dialect:
    """Return the interface of that name."""
    return _DIALECTS[api]


def default_api(provider: str, model: str) -> Api | None:
    """Return the interface of a known provider; None if it has none, so that its chat is used."""
    if provider == "mistral" and model.startswith("codestral"):
        return "fim"
    return "completions" if provider in ("deepseek", "ollama", "ollama_chat", "text-completion-openai") else None


def is_last(event: SentEvent) -> bool:
    """Whether the event ends an answer."""
    return event.data.strip() == "[DONE]" or parsed(event).get("stop") is True


def text_of(event: SentEvent) -> str:
    """Return the text of an event of any of the interfaces. Raises `AnswerError` for an error and for an unreadable
    event."""
    if event.data.strip() == "[DONE]":
        return ""
    if error := stream_error(event):
        raise error
    body = parsed(event)
    if error := error_in(body):
        raise error
    return text_in(body)


def text_in(body: Mapping[str, Any]) -> str:
    """Return the text of an answer, or of a part of it."""
    match body:
        case {"choices": [{"delta": {"content": str(text)}}, *_]}:
            return text
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return text
        case {"choices": [{"text": str(text)}, *_]} | {"content": str(text)}:
            return text
        case _:
            return ""


def _prompt(request: CompletionRequest) -> str:
    """Return the text before the cursor, with the other files above it behind comments with their names, as models know
    them from repositories."""
    sign = _COMMENTS.get(request.path.suffix.lower(), "//")
    others = [f"{sign} {each.name}\n{each.text}\n" for each in _extra(request)]
    return "".join([*others, f"{sign} {request.name}\n"] if others else []) + _beginning(request)


def _beginning(request: CompletionRequest) -> str:
    return f"{request.imports}\n\n{request.before}" if request.imports else request.before


def _extra(request: CompletionRequest) -> Sequence[Snippet]:
    """Return the other files, and what the user changed in them: interfaces that fill in the middle know no diffs."""
    shown = "\n".join([request.before, request.after, *(each.text for each in request.snippets)])
    changed = [
        Snippet(path=each.path, name=each.name, text=each.new)
        for each in request.edits
        if each.path != request.path and each.new.strip() and each.new not in shown
    ]
    return [*changed, *request.snippets]


def _common(target: NativeTarget, request: CompletionRequest) -> dict[str, Any]:
    return {
        "model": target.model,
        "prompt": _prompt(request),
        "suffix": request.after,
        "max_tokens": request.max_tokens,
        "temperature": 0,
        "stream": True,
        "stop": list(STOP),
    }


def _infill(_: NativeTarget, request: CompletionRequest) -> Mapping[str, Any]:
    return {
        "input_prefix": _beginning(request),
        "input_suffix": request.after,
        "input_extra": [{"filename": each.name, "text": each.text} for each in _extra(request)],
        "n_predict": request.max_tokens,
        "temperature": 0,
        "stream": True,
        "stop": list(STOP),
        "cache_prompt": True,
    }


def _of_completions(target: NativeTarget) -> str:
    """DeepSeek has it at another address than its chat."""
    is_deepseek = target.provider.name == "deepseek" and target.is_own_address
    return (f"{target.base.removesuffix('/v1')}/beta" if is_deepseek else target.base) + "/completions"


_DIALECTS: Mapping[Api, Dialect] = {
    "fim": Dialect(url=lambda target: f"{target.base}/fim/completions", body=_common),
    "completions": Dialect(url=_of_completions, body=_common),
    "infill": Dialect(url=lambda target: f"{target.base.removesuffix('/v1')}/infill", body=_infill),
}
