"""Secrets of a session: masks text for the model and the front ends, restores values in written files, and refuses
calls that would lose a secret or disclose one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from msgspec.structs import replace

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.agent.kinds import ToolCategory
from pygent_ls.agent.messages import Message, ToolUseBlock
from pygent_ls.agent.ports.workspace import FileChange, Workspace
from pygent_ls.agent.tools.secret_masks import SecretMasks
from pygent_ls.agent.tools.tool import PATH_ARGUMENTS, Tool, ToolRegistry
from pygent_ls.errors import Quote, ToolError
from pygent_ls.secrets.diff_headers import PATCH_HEADER
from pygent_ls.secrets.env_files import is_env_file
from pygent_ls.secrets.redactor import ALTERED_PLACEHOLDER, PLACEHOLDER, Redactor
from pygent_ls.secrets.session import ENV_FILES_OF_A_FOLDER, SecretFiles, mentioned
from pygent_ls.secrets.stream import LiveRedactor

_PATTERN = re.compile(r"(?<![\w.])\.[\w.-]{0,40}[*?\[][\w.*?!^\[\]-]{0,40}")
"""Word of a command that the shell may expand to the name of a hidden file."""

_MASK = re.compile(
    r"\*{3,}|[xX]{4,}|[•●█▪]{3,}|\.{3,}|…|\b(?:REDACTED|MASKED|HIDDEN|redacted|masked)\b"
    r"|(?<![<\[({])[<\[({]++\s*+(?i:redacted|masked|hidden|secret|removed|filtered|sensitive|censored)[\w\s-]*+[>\])}]"
)
"""A mask: text that stands for a value."""


class SessionSecrets:
    """Secrets of one session. Without a redactor that is on, all text stays unchanged."""

    def __init__(
        self, redactor: Redactor | None = None, workspace: Workspace | None = None, files: SecretFiles | None = None
    ) -> None:
        self._redactor = redactor or Redactor()
        self.masks = SecretMasks(self._redactor, workspace, files)

    def seen_from(self, workspace: Workspace | None) -> SessionSecrets:
        """Return the same secrets with another workspace, through which their files are read."""
        return SessionSecrets(self._redactor, workspace, self.masks.files)

    async def masked(self, text: str, path: str | None = None) -> str:
        """Mask text that is neither of a tool nor of a change: a prompt, an attachment (with its path), a question."""
        if not self._redactor.is_on:
            return text
        await self.masks.learn_named(text)
        return await self.masks.text(text, path)

    async def masked_result(self, call: ToolUseBlock, tool: Tool | None, content: str) -> str:
        """Mask the result or error of a call. Built-in tools mask the text of files and programs before they cut it;
        the rest of a result is whole."""
        if not self._redactor.is_on:
            return content
        changes_nothing = tool is not None and tool.read_only
        await self.masks.learn_named(content, own=not changes_nothing)  # those before the call are known
        return await self.masks.text(content, env_file_of(call, tool))

    async def masked_error(self, error: ToolError) -> str:
        """Return the masked message of an error."""
        return await self.requoted(str(error), error.quotes)

    async def requoted(self, said: str, quotes: Iterable[Quote]) -> str:
        """Return a message with each excerpt of a text replaced by the excerpt of the masked text."""
        for quote in quotes:
            masked = await self.masks.text(quote.text, quote.path)
            said = said.replace(excerpt(quote.text), excerpt(masked))
        return said

    async def masked_changes(
        self, changes: Sequence[FileChange], *, with_texts: bool = False
    ) -> tuple[FileChange, ...]:
        """Mask changes for front ends. Whole texts are included, masked, only with `with_texts`."""
        if not self._redactor.is_on:
            return tuple(changes)
        return tuple([await self._masked_change(each, with_texts=with_texts) for each in changes])

    async def _masked_change(self, change: FileChange, *, with_texts: bool) -> FileChange:
        path = str(change.path)
        old = await self.masks.text(change.old_text, path)
        new = await self.masks.text(change.new_text, path)
        patch = await self.masks.text(change.patch, path)
        if (old, new) != (change.old_text, change.new_text):
            patch = await asyncio.to_thread(_patch_of, change, old, new)
        texts = (old, new) if with_texts else ("", "")
        return replace(change, patch=patch, old_text=texts[0], new_text=texts[1])

    def switch(self, *, on: bool) -> None:
        """Switch masking on or off from now on. Earlier placeholders are restored in either case."""
        self._redactor.switch(on=on)

    def live(self, call: ToolUseBlock, tool: Tool) -> LiveRedactor:
        """Return a redactor for the live output of a call."""
        return self.masks.live(env_file_of(call, tool))

    def know(self, values: Iterable[str]) -> None:
        """Mask these values wherever they occur from now on: the daemon's own keys."""
        self._redactor.know(values)

    # Restoring values

    async def restored(self, call: ToolUseBlock, tool: Tool) -> Mapping[str, Any]:
        """Return the arguments with the values of placeholders, if the call writes text to files.

        Raises `ToolError` for an unknown or altered placeholder, and for a placeholder in any other call.
        """
        texts = " ".join(_texts_in(call.input))
        if self._redactor.is_on:
            await self.masks.learn_named(texts)  # before the call can show any value
            if tool.runs_programs and not tool.read_only:
                await self.masks.learn_all()
        if "SECRET_" not in texts or tool.category is ToolCategory.AGENT:
            return call.input
        if tool.plans_edit and tool.kind == "edit":
            return await self._with_values(call.input, tool)
        if self._redactor.is_on and (found := PLACEHOLDER.search(texts)):
            raise ToolError(_not_for_this(tool, found[0]))
        return call.input

    async def _with_values(self, given: Mapping[str, Any], tool: Tool) -> Mapping[str, Any]:
        texts = " ".join(_texts_in(given))
        if self._redactor.restore(texts)[1]:
            await self.masks.learn_named(texts)
            await self.masks.learn_files(tool.paths_in(given))
        values = {name: value if name in PATH_ARGUMENTS else self._restored(value) for name, value in given.items()}
        if tool.paths_in(values) != tool.paths_in(given):
            raise ToolError("A path cannot contain the placeholder of a secret. Nothing was changed.")
        self.masks.written(tool.paths_in(given), texts)
        return values

    def _restored(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._restored(inner) for name, inner in cast("Mapping[str, Any]", value).items()}
        if isinstance(value, list):
            return [self._restored(inner) for inner in cast("list[Any]", value)]
        if not isinstance(value, str):
            return value
        text, unknown = self._redactor.restore(value)
        if not self._redactor.is_on:  # an unknown placeholder may be meant literally
            return text
        if unknown:
            raise ToolError(
                f"{', '.join(unknown)}: unknown placeholder; neither the session nor the file has such a secret. "
                "Nothing was changed. Read the file that contains the secret, and copy its placeholder exactly."
            )
        if altered := ALTERED_PLACEHOLDER.search(text):
            raise ToolError(
                f"{altered[0]} does not match the placeholder you were shown. Nothing was changed. Copy it "
                "exactly, with both pairs of braces, as in {{SECRET_name_0123456789ab}}."
            )
        return text

    def recall(self, messages: Iterable[Message], tools: ToolRegistry) -> None:
        """Remember the files to which calls in these messages wrote the values of placeholders."""
        for call in (block for each in messages for block in each.blocks if isinstance(block, ToolUseBlock)):
            tool = tools.get(call.name)
            if tool is not None and tool.plans_edit:
                self.masks.written(tool.paths_in(call.input), " ".join(_texts_in(call.input)))
                self.masks.put_elsewhere(call.input.get("source"), call.input.get("destination"))

    async def refuse_masks(self, changes: Sequence[FileChange]) -> None:
        """Raise `ToolError` if a change would replace a secret by a mask."""
        if self._redactor.is_on:
            for change in changes:
                await self._refuse_mask(change)

    async def _refuse_mask(self, change: FileChange) -> None:
        added = _lines_of(change.patch, "+")
        if not added or not any(_MASK.search(line) for line in added):
            return
        before = await self.masks.text("\n".join(_lines_of(change.patch, "-")), str(change.path))
        after = await self.masks.text("\n".join(added), str(change.path))
        kept = set(PLACEHOLDER.findall(after))
        for line in before.splitlines():
            for found in PLACEHOLDER.finditer(line):
                if found[1] not in kept and _is_masked_in(after.splitlines(), line[: found.start()]):
                    raise ToolError(
                        f"This would overwrite a secret in {change.path.name} with a mask, and its value would be "
                        f"lost. Nothing was changed. To keep the secret, write its placeholder {found[0]}, which "
                        "is replaced by the value again. To remove the secret, remove its line or leave its "
                        "value empty."
                    )


def env_file_of(call: ToolUseBlock, tool: Tool | None) -> str | None:
    """Return the file of environment variables that the call names, as a path or in a command; None without one."""
    paths = tool.paths_in(call.input) if tool else ()
    command = call.input.get("command")
    named = (*paths, *(_named_in(command) if isinstance(command, str) else ()))
    return next((name for name in named if is_env_file(name)), None)


def _named_in(command: str) -> Iterator[str]:
    """Yield the files of environment variables that a command names, or may mean by a pattern such as `.e*`."""
    yield from mentioned(command)
    for pattern in _PATTERN.findall(command):
        yield from (name for name in ENV_FILES_OF_A_FOLDER if fnmatchcase(name, pattern))


def _texts_in(value: object) -> Iterator[str]:
    """Yield every text in the arguments of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[object, object]", value).values():
            yield from _texts_in(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts_in(inner)


def _patch_of(change: FileChange, old: str, new: str) -> str:
    """Return the patch between the masked texts, with the header of the change's patch."""
    found = PATCH_HEADER.match(change.patch)
    patch = unified_diff(old, new, change.path.name).patch
    return (found[0] if found else "") + patch[match.end() :] if (match := PATCH_HEADER.match(patch)) else patch


def _not_for_this(tool: Tool, placeholder: str) -> str:
    return (
        f"{placeholder} stands for a secret. It is replaced by the value only in files that you write, so "
        f"{tool.name} was not run. Let the program read the value itself, from an environment variable or from "
        "the file that contains it, or ask the user to run it."
    )


def _lines_of(patch: str, sign: str) -> list[str]:
    """Return the lines that a patch adds or removes."""
    return [line[1:] for line in patch.splitlines() if line.startswith(sign) and not line.startswith(sign * 3 + " ")]


def _is_masked_in(lines: Iterable[str], before: str) -> bool:
    """Whether a mask replaces the secret: after the same name, or anywhere if the secret had no name."""
    words = re.findall(r"[\w-]+", before)
    name = words[-1] if words else ""
    return any(name in line and _MASK.search(line, line.index(name) + len(name)) for line in lines)
