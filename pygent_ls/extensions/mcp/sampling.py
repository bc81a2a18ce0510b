"""Model calls that MCP servers ask for: each is shown to the user, who decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pygent_ls.agent.context.images import picture_from_base64
from pygent_ls.agent.display_text import visible
from pygent_ls.agent.messages import Block, ImageBlock, Message, TextBlock
from pygent_ls.agent.ports.questioner import AnswerChoice, Question, QuestionAnswered
from pygent_ls.errors import ModelError, ToolError
from pygent_ls.extensions.mcp.server import McpHost, SampleRequest, ServerLog

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams, CreateMessageResult, ErrorData, SamplingMessage

MAX_TOKENS = 8_192
"""Maximum number of tokens of an answer, whatever a server asks for."""

MAX_SHOWN_CHARS = 10_000
"""Maximum length of a request, which the user has to be able to read."""

REFUSED = -1
"""Code of the error for a request that the user rejects, as the specification gives it."""

ALLOW = AnswerChoice(title="Allow once")
DECLINE = AnswerChoice(title="Decline")


async def sample(
    server: str, params: CreateMessageRequestParams, host: McpHost, log: ServerLog
) -> CreateMessageResult | ErrorData:
    """Ask the user whether the server may use their model, call it, and return the answer."""
    from mcp_types import CreateMessageResult, ErrorData, TextContent

    try:
        request = SampleRequest(
            system=params.system_prompt or "",
            messages=[_message(each) for each in params.messages],
            max_tokens=max(1, min(params.max_tokens, MAX_TOKENS)),
            temperature=params.temperature,
        )
        shown = _shown(request)
    except ToolError as error:
        return ErrorData(code=REFUSED, message=str(error))
    question = Question(
        question_id="mcp",
        session_id="",
        tool_id="",
        text=f"The MCP server {server} wants to send this to your model, at your cost:\n{shown}",
        choices=(ALLOW, DECLINE),
        from_model=False,
        server=server,
    )
    answer = await host.ask(question)
    if not isinstance(answer, QuestionAnswered) or answer.choice != ALLOW.title:
        return ErrorData(code=REFUSED, message="The user rejected the request.")
    try:
        sampled = await host.sample(request)
    except ModelError as error:
        log.add(f"sampling failed: {error}")
        return ErrorData(code=REFUSED, message=f"The model could not be called: {error}")
    log.add(f"sampling: {sampled.usage.total_tokens} tokens of {sampled.model}, {sampled.usage.cost_in_words}")
    return CreateMessageResult(
        role="assistant", content=TextContent(text=sampled.text), model=sampled.model, stop_reason="endTurn"
    )


def _message(given: SamplingMessage) -> Message:
    """Return the message. Raises `ToolError` for content that models do not take."""
    content = given.content if isinstance(given.content, list) else [given.content]
    blocks: list[Block] = []
    for each in content:
        match each.type:
            case "text":
                blocks.append(TextBlock(text=each.text))
            case "image":
                blocks.append(picture_from_base64(each.data, "The image"))
            case _:
                raise ToolError(f"Content of type {each.type} cannot be sent to a model here.")
    return Message(role=given.role, content=tuple(blocks))


def _shown(request: SampleRequest) -> str:
    """Return the whole request for the user. Raises `ToolError` if it is too long to read."""
    text = visible("\n".join(_lines(request)))
    if len(text) > MAX_SHOWN_CHARS:
        raise ToolError(f"The request is longer than {MAX_SHOWN_CHARS:,} characters, so the user cannot review it.")
    return text


def _lines(request: SampleRequest) -> Iterator[str]:
    if request.system:
        yield f"system: {request.system}"
    for message in request.messages:
        for block in message.blocks:
            if isinstance(block, TextBlock):
                yield f"{message.role}: {block.text}"
            elif isinstance(block, ImageBlock):
                yield f"{message.role}: [an image, {block.mime_type}]"
