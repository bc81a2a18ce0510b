"""What a session does about secrets: masks what the model and the front ends see, puts values back into what is
written, and refuses what would lose one or carry one out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, cast

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
"""A word of a command that may become the name of a hidden file."""

_MASK = re.compile(
    r"\*{3,}|[xX]{4,}|[•●█▪]{3,}|\.{3,}|…|\b(?:REDACTED|MASKED|HIDDEN|redacted|masked)\b"
    r"|(?<![<\[({])[<\[({]++\s*+(?i:redacted|masked|hidden|secret|removed|filtered|sensitive|censored)[\w\s-]*+[>\])}]"
)
"""What stands for a value without being one."""


class Secrets:
    """One session's. Without a redactor that is on, everything stays as it is."""

    def __init__(
        self, redactor: Redactor | None = None, workspace: Workspace | None = None, files: SecretFiles | None = None
    ) -> None:
        self._redactor = redactor or Redactor()
        self.masks = SecretMasks(self._redactor, workspace, files)

    def seen_from(self, workspace: Workspace | None) -> Secrets:
        """The same secrets, whose files are read as this workspace shows them."""
        return Secrets(self._redactor, workspace, self.masks.files)

    async def masked(self, text: str, path: str | None = None) -> str:
        """Text that is neither a tool's nor a change: a prompt, an attachment (with its path), a question."""
        if not self._redactor.is_on:
            return text
        await self.masks.learn_named(text)
        return await self.masks.text(text, path)

    async def masked_result(self, call: ToolUseBlock, tool: Tool | None, content: str) -> str:
        """What a call returned, or the error that it ended with. What our own tools read of files and programs was
        masked then, before they cut it; what else there is in a result comes whole."""
        if not self._redactor.is_on:
            return content
        changes_nothing = tool is not None and tool.read_only
        await self.masks.learn_named(content, own=not changes_nothing)  # those before the call are known
        return await self.masks.text(content, env_file_of(call, tool))

    async def masked_error(self, error: ToolError) -> str:
        """What an error says."""
        return await self.requoted(str(error), error.quotes)

    async def requoted(self, said: str, quotes: Iterable[Quote]) -> str:
        """Words in which excerpts of texts stand, with those of the masked texts in their place."""
        for quote in quotes:
            masked = await self.masks.text(quote.text, quote.path)
            said = said.replace(excerpt(quote.text), excerpt(masked))
        return said

    async def masked_changes(
        self, changes: Sequence[FileChange], *, with_texts: bool = False
    ) -> tuple[FileChange, ...]:
        """Changes as front ends may show them; the whole texts are masked where they are needed, else left out."""
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
        """Mask from now on, or not. What was masked before is put back in either case."""
        self._redactor.switch(on=on)

    def live(self, call: ToolUseBlock, tool: Tool) -> LiveRedactor:
        """For the output of a call, as it comes."""
        return self.masks.live(env_file_of(call, tool))

    def know(self, values: Iterable[str]) -> None:
        """Mask these values wherever they occur from now on: keys that the daemon itself holds."""
        self._redactor.know(values)

    # On the way back

    async def restored(self, call: ToolUseBlock, tool: Tool) -> Mapping[str, Any]:
        """The arguments with the values in them, for what writes text into files.

        Raises `ToolError` for a placeholder that is not known or was altered, and for one in any other call.
        """
        texts = " ".join(_texts_in(call.input))
        if self._redactor.is_on:
            await self.masks.learn_named(texts)  # before the call can show any of it
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
        if not self._redactor.is_on:  # what is not known may be meant as it stands
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
        """Know the files into which the values of placeholders were written in these messages."""
        for call in (block for each in messages for block in each.blocks if isinstance(block, ToolUseBlock)):
            tool = tools.get(call.name)
            if tool is not None and tool.plans_edit:
                self.masks.written(tool.paths_in(call.input), " ".join(_texts_in(call.input)))
                self.masks.put_elsewhere(call.input.get("source"), call.input.get("destination"))

    async def refuse_masks(self, changes: Sequence[FileChange]) -> None:
        """Raises `ToolError` where a change would put a mask in the place of a secret."""
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
    """The file of environment variables that the call is about: it names it as a path, or within a command."""
    paths = tool.paths_in(call.input) if tool else ()
    command = call.input.get("command")
    named = (*paths, *(_named_in(command) if isinstance(command, str) else ()))
    return next((name for name in named if is_env_file(name)), None)


def _named_in(command: str) -> Iterator[str]:
    """The files of environment variables that a command names, or may mean by a pattern such as `.e*`."""
    yield from mentioned(command)
    for pattern in _PATTERN.findall(command):
        yield from (name for name in ENV_FILES_OF_A_FOLDER if fnmatchcase(name, pattern))


def _texts_in(value: object) -> Iterator[str]:
    """Every text within the arguments of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[object, object]", value).values():
            yield from _texts_in(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts_in(inner)


def _patch_of(change: FileChange, old: str, new: str) -> str:
    """The change's patch, between the masked texts."""
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
    """The lines that a patch adds, or removes."""
    return [line[1:] for line in patch.splitlines() if line.startswith(sign) and not line.startswith(sign * 3 + " ")]


def _is_masked_in(lines: Iterable[str], before: str) -> bool:
    """Whether a mask stands where the secret stood: after the same name, or anywhere where it had none."""
    words = re.findall(r"[\w-]+", before)
    name = words[-1] if words else ""
    return any(name in line and _MASK.search(line, line.index(name) + len(name)) for line in lines)
