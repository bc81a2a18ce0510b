"""Attachments of a prompt: files, selections, diagnostics, images, and where the user is in the editor."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.editor_text import listed, shown_name
from pygent_ls.agent.context.images import picture
from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.events import Location, PromptAttachment
from pygent_ls.agent.messages import Block, ImageBlock, RejectedFile, TextBlock
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.workspace import Workspace
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.secret_masks import SecretMasks
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import whole_placeholders
from pygent_ls.secrets.stream import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """File, or some of its lines, read when the turn begins."""

    path: Path
    lines: LineRange | None = None
    is_background: bool = field(default=False, compare=False)
    """Whether the editor reports it, and the user did not name it."""


class SelectionPart(Struct, frozen=True, kw_only=True):
    """Text that the user selected."""

    path: Path
    lines: LineRange
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsPart:
    """Diagnostics that the editor shows in a file, one line each."""

    path: Path
    lines: tuple[str, ...]
    is_background: bool = field(default=False, compare=False)
    """Whether the editor reports them, and the user did not ask about them."""


class EditorPart(Struct, frozen=True, kw_only=True):
    """The user's position in the editor: background, never a request."""

    active: Path | None
    visible: tuple[Path, ...]


class ImagePart(Struct, frozen=True, kw_only=True):
    """Image file, read when the turn begins; its content determines its type."""

    path: Path
    mime_type: str


class TerminalPart(Struct, frozen=True, kw_only=True):
    """Command that the user ran in a terminal of their own, and its output."""

    command: str
    """Empty if unknown."""
    output: str
    exit_code: int | None = None
    """None while it runs, or if unknown."""


class NotePart(Struct, frozen=True, kw_only=True):
    """Text of something that the user named in the prompt."""

    kind: str
    text: str
    from_outside: bool = True
    """Whether the text, or part of it, comes from a program or a file."""


class ReviewPart(Struct, frozen=True, kw_only=True):
    """Report of the agent's edits that the user rejected since the last report. It states the user's own decision."""

    text: str
    files: tuple[RejectedFile, ...]


Attachment = (
    FilePart
    | SelectionPart
    | DiagnosticsPart
    | EditorPart
    | ImageBlock
    | ImagePart
    | TerminalPart
    | NotePart
    | ReviewPart
)

PromptPart = str | Attachment

MAX_ATTACHED_CHARS = 100_000
"""Maximum characters of one attachment: about 25 000 tokens. The model reads the rest of a file with read_file."""


def is_background(part: Attachment) -> bool:
    """Whether the attachment only says where the user is, without asking for anything."""
    match part:
        case EditorPart():
            return True
        case FilePart(is_background=told) | DiagnosticsPart(is_background=told):
            return told
        case SelectionPart() | ImageBlock() | ImagePart() | TerminalPart() | NotePart() | ReviewPart():
            return False


async def without_secrets(part: Attachment, mask: Mask) -> Attachment:
    """Return the attachment with its own text masked; the files that it names are masked when they are read."""
    match part:
        case SelectionPart(path=path, text=text):
            return replace(part, text=await mask(text, str(path)))
        case DiagnosticsPart(path=path, lines=lines):
            return dataclasses.replace(part, lines=tuple([await mask(each, str(path)) for each in lines]))
        case TerminalPart(command=command, output=output):
            return replace(part, command=await mask(command, None), output=await mask(output, None))
        case NotePart(text=text) | ReviewPart(text=text):
            return replace(part, text=await mask(text, None))
        case FilePart() | EditorPart() | ImageBlock() | ImagePart():
            return part


async def shown_attachments(parts: Sequence[PromptPart], mask: Mask) -> tuple[PromptAttachment, ...]:
    """Return what a view shows of the attachments; background is left out."""
    shown = [await _shown(part, mask) for part in parts if not isinstance(part, str) and not is_background(part)]
    return tuple(each for each in shown if each is not None)


async def _shown(part: Attachment, mask: Mask) -> PromptAttachment | None:
    match part:
        case FilePart(path=path, lines=lines):
            return PromptAttachment(kind="file", location=_location(path, lines))
        case SelectionPart(path=path, lines=lines):
            return PromptAttachment(kind="selection", location=_location(path, lines))
        case DiagnosticsPart(path=path, lines=problems):
            return PromptAttachment(kind="diagnostics", location=Location(path=path), n_problems=len(problems))
        case ImagePart(path=path, mime_type=mime_type):
            return PromptAttachment(kind="image", location=Location(path=path), mime_type=mime_type)
        case ImageBlock(mime_type=mime_type):
            return PromptAttachment(kind="image", mime_type=mime_type)
        case TerminalPart(command=command):
            return PromptAttachment(kind="terminal", text=await mask(command, None))
        case ReviewPart(text=text, files=files):
            return PromptAttachment(kind="review", text=await mask(text, None), rejected=files)
        case EditorPart() | NotePart():
            return None


def _location(path: Path, lines: LineRange | None) -> Location:
    if lines is None:
        return Location(path=path)
    return Location(path=path, first_line=lines.first, last_line=lines.last)


async def _as_it_is(text: str, _: str | None) -> str:
    return text


async def render(
    parts: Sequence[PromptPart],
    workspace: Workspace,
    reads: ReadLog,
    mask: Mask = _as_it_is,
    reading: Reading | None = None,
    masks: SecretMasks | None = None,
) -> str | tuple[Block, ...]:
    """Return the prompt as the model reads it: context blocks first, the user's words last, every text through `mask`.
    Files are masked as a whole, by `masks`, before lines are taken from them.

    The result is plain text if nothing is attached. A file that cannot be read, or that a rule of `reading` denies, is
    replaced by a note that says so.
    """
    reading = reading or Reading()
    words = await mask("".join(part for part in parts if isinstance(part, str)), None)
    rendered = [
        _denied(part, workspace, reading) or await _block_of(part, workspace, reads, mask, masks or SecretMasks())
        for part in parts
        if not isinstance(part, str)
    ]
    context = tuple(block for block in rendered if block is not None)
    if not context:
        return words
    return (*context, TextBlock(text=words)) if words.strip() else context


async def _block_of(
    part: Attachment, workspace: Workspace, reads: ReadLog, mask: Mask, masks: SecretMasks
) -> Block | None:
    """Return what the model sees of an attachment; None if it sees nothing."""
    match part:
        case ImageBlock() | ImagePart():
            return part if isinstance(part, ImageBlock) else await _image(part, workspace)
        case FilePart():
            return _data(await _file(part, workspace, reads, mask, masks))
        case SelectionPart(path=path, lines=lines):
            text = await mask(await _selected(part, workspace, masks), path.name)
            return _block("selection", workspace.shown(path), text, lines)
        case DiagnosticsPart(path=path, lines=problems):
            text = await mask("\n".join(problems), path.name)
            return _block("diagnostics", workspace.shown(path), text)
        case EditorPart(active=active, visible=visible):
            return _data(_editor(part, workspace)) if active or visible else None
        case TerminalPart():
            return await _note(NotePart(kind="terminal", text=_terminal(part)), mask)
        case NotePart():
            return await _note(part, mask)
        case ReviewPart(text=text, files=files):
            return TextBlock(text=_fitting(await mask(text, None)), rejected=files)


def _denied(part: Attachment, workspace: Workspace, reading: Reading) -> Block | None:
    """Return the note that replaces an attachment that a rule denies; None if it may be shown."""
    if not reading.rules or isinstance(part, ImageBlock | EditorPart | TerminalPart | NotePart | ReviewPart):
        return None
    places = [part.path]
    with suppress(ToolError):  # a path outside the workspace is checked by its own name alone
        places.append(workspace.resolve(str(part.path)))
    rule = next((rule for place in places if (rule := reading.denies(workspace.shown(place)))), None)
    if rule is None:
        return None
    return _block(_KINDS[type(part)], workspace.shown(part.path), f"Not shown: the rule {rule.text} denies reading it.")


_KINDS = {FilePart: "file", SelectionPart: "selection", DiagnosticsPart: "diagnostics", ImagePart: "image"}


async def _image(part: ImagePart, workspace: Workspace) -> Block:
    try:
        return picture(await workspace.read_binary(part.path), workspace.shown(part.path))
    except ToolError as error:
        return _block("image", workspace.shown(part.path), f"Could not be read: {error}")


async def _selected(part: SelectionPart, workspace: Workspace, masks: SecretMasks) -> str:
    """Return the selected text, or its whole lines if they hold a secret: part of a secret cannot be recognised."""
    try:
        document = await workspace.read(part.path)
    except ToolError:
        return part.text
    lines, masked = split_lines(document.text), split_lines((await masks.document(document)).text)
    chosen = slice(part.lines.first - 1, part.lines.last)
    return part.text if lines[chosen] == masked[chosen] else "".join(masked[chosen])


async def _file(part: FilePart, workspace: Workspace, reads: ReadLog, mask: Mask, masks: SecretMasks) -> str:
    name = workspace.shown(part.path)
    try:
        document = await workspace.read(part.path)
    except ToolError as error:
        return f'<context kind="file" path="{name}">\nCould not be read: {error}\n</context>'
    text = await mask((await masks.document(document)).text, part.path.name)
    if part.lines is not None:
        lines = split_lines(text)
        text = "".join(lines[part.lines.first - 1 : part.lines.last])
        if part.lines.first > len(lines):
            text = f"The file has only {len(lines)} lines."
    elif len(document.text) <= MAX_ATTACHED_CHARS:
        reads.record(document)
    return _block("file", name, text, part.lines).text


async def _note(part: NotePart, mask: Mask) -> Block:
    said = f'<context kind="{part.kind}">\n{_fitting(await mask(part.text, None))}\n</context>'
    return TextBlock(text=said, from_outside=part.from_outside)


def _terminal(part: TerminalPart) -> str:
    """Return the command, its output, and its exit code."""
    said = [f"$ {part.command}"] if part.command else []
    said.append(part.output.rstrip("\n") or "[no output]")
    if part.exit_code is not None:
        said.append(f"[exit code {part.exit_code}]")
    return "\n".join(said)


def _block(kind: str, name: str, text: str, lines: LineRange | None = None) -> TextBlock:
    where = f' lines="{lines.first}-{lines.last}"' if lines else ""
    return _data(f'<context kind="{kind}" path="{name}"{where}>\n{_fitting(text)}\n</context>')


def _fitting(text: str) -> str:
    left_out = len(text) - MAX_ATTACHED_CHARS
    if left_out <= 0:
        return text
    shown = text[: whole_placeholders(text, MAX_ATTACHED_CHARS)]
    return f"{shown}\n[… {left_out} characters left out: read the rest with tools …]"


def _data(text: str) -> TextBlock:
    return TextBlock(text=text, from_outside=True)


def _editor(part: EditorPart, workspace: Workspace) -> str:
    said = [f"Active file: {shown_name(part.active, workspace.shown)}"] if part.active else []
    if part.visible:
        said.append(f"Visible files: {listed([shown_name(path, workspace.shown) for path in part.visible])}")
    return '<context kind="editor">\n' + "\n".join(said) + "\n</context>"
