"""Completers: requests that fill in the middle, and chat models in their place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal

from msgspec import Struct

from pygent_ls.agent.messages import user_message
from pygent_ls.agent.ports.completer import NEXT_EDIT_FORM, Completer, CompletionRequest, RecentEdit
from pygent_ls.agent.ports.model import Model, ModelRequest, TextChunk
from pygent_ls.errors import ModelError
from pygent_ls.llm.completion.dialects import Api, default_api, dialect, is_last, text_in, text_of
from pygent_ls.llm.errors.answer_errors import AnswerError
from pygent_ls.llm.errors.model_errors import model_error
from pygent_ls.llm.http.call import Native
from pygent_ls.llm.http.stream import KeepAlive, WholeAnswer
from pygent_ls.llm.openai.chat_model import OpenAIModel, bearer
from pygent_ls.llm.routed_model import RoutedModel
from pygent_ls.llm.text_tools.model import TextToolCalls

CURSOR = "<CURSOR>"

SYSTEM = f"""You complete code in an editor. The user shows a file with {CURSOR} where they type. Answer with exactly \
the text that belongs there: no explanation, no code fence, and nothing that is before or after {CURSOR} already. \
Complete one statement or a few lines; answer with nothing if nothing is missing."""

NEXT_EDIT_SYSTEM = f"""You predict the next edit of a user in an editor. The user shows their last edits and a file, \
with {CURSOR} where their cursor is. If the last edits make another change of that file necessary or very likely, such \
as the other uses of a name that they changed, answer with exactly one change, in this form and nothing else:

{NEXT_EDIT_FORM}

The lines in <old> do not contain {CURSOR}. Change as few lines as possible. If no change is likely, answer NONE."""


async def completer_of(model: Model, api: Api | Literal["chat"] | None) -> Completer:
    """Return the completer of a model. `api` chooses the interface; None takes that of the provider, or else its chat.
    Raises `ModelError`."""
    if isinstance(model, TextToolCalls):  # it calls no tools
        model = model.inner
    if isinstance(model, RoutedModel):
        model = await model.routed()
    if isinstance(model, OpenAIModel):
        native = model.native
        chosen = api or default_api(native.provider.name, native.model)
        if chosen is not None and chosen != "chat":
            return InfillCompleter(native=native, api=chosen)
    elif api not in (None, "chat"):
        problem = f"completion.api: {model.name} has no interface {api!r}. Use `auto` or `chat`."
        raise ModelError(problem, type="invalid_request")
    return ChatCompleter(model=model)


class InfillCompleter(Struct, frozen=True, kw_only=True):
    """Implements `Completer` with an interface that fills in the middle."""

    native: Native
    api: Api

    @property
    def name(self) -> str:
        return self.native.name

    async def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        native, spoken = self.native, dialect(self.api)
        target = await native.prepared()
        call = native.call(target, spoken.url(target), bearer(target), spoken.body(target, request), is_last)
        try:
            async with aclosing(native.resources.connections.events(call)) as events:
                async for event in events:
                    match event:
                        case KeepAlive():
                            continue
                        case WholeAnswer(body=body):
                            text = text_in(body)
                        case _:
                            text = text_of(event)
                    if text:
                        yield text
        except AnswerError as error:
            raise model_error(error, target.called) from None


class ChatCompleter(Struct, frozen=True, kw_only=True):
    """Implements `Completer` with a chat model."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        await self.model.prepare()
        model_request = ModelRequest(
            system=SYSTEM if request.task == "complete" else NEXT_EDIT_SYSTEM,
            messages=[user_message(_asked(request))],
            tools=(),
            max_output_tokens=request.max_tokens,
            temperature=0.0,
            effort="none",
        )
        async with aclosing(self.model.stream(model_request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextChunk):
                    yield chunk.text


def _asked(request: CompletionRequest) -> str:
    """Return the prompt of a chat model."""
    others = "".join(f"File {each.name}:\n{each.text}\n\n" for each in request.snippets)
    edits = "".join(f"{_diff(each)}\n" for each in request.edits)
    recent = f"The user's last edits, the newest last:\n{edits}\n" if edits else ""
    imports = f"{request.imports}\n[…]\n" if request.imports else ""
    return f"{others}{recent}File {request.name}:\n{imports}{request.before}{CURSOR}{request.after}"


def _diff(edit: RecentEdit) -> str:
    removed = "".join(f"-{line}\n" for line in edit.old.split("\n"))
    added = "".join(f"+{line}\n" for line in edit.new.split("\n"))
    return f"{edit.name}, line {edit.line}:\n{removed}{added}"
