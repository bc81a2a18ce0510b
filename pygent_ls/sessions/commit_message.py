"""Message of the next git commit, written by one request to a model without tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.context.instructions import without_secrets
from pygent_ls.agent.display_text import visible
from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.model import Model, ModelRequest
from pygent_ls.agent.ports.processes import Repository
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ModelError, SessionError, ToolError
from pygent_ls.llm.providers.known_providers import OFFLINE
from pygent_ls.sessions.turns.reading_context import reading_context
from pygent_ls.tools.git.program import repository_of, shown_git
from pygent_ls.tools.git.review_target import commit_target
from pygent_ls.tools.git.reviewed_changes import changes_of

MAX_OUTPUT_TOKENS = 2_000
"""Maximum tokens of an answer; a model that reasons first needs most of them for that."""

MAX_MESSAGE_CHARS = 5_000

MAX_INSTRUCTION_CHARS = 12_000
"""Maximum length of the project's instructions in the request."""

N_SUBJECTS = 20
"""Number of recent commits whose subjects show the style."""

RULES = """\
You write the message of a git commit. Answer with the message only: no code fence, no quotation marks, no comment.

The first line is the subject: what the commit does, in at most 72 characters, without a full stop. If the reason or \
the way is not obvious from the diff, an empty line and a short body follow, wrapped at 72 characters, which says why; \
it does not repeat the diff. Follow the language and the style of the recent subjects, such as prefixes, and what the \
project's instructions say about commit messages. Do not invent issue numbers, names or sign-offs."""

_FENCED = re.compile(r"\A```[^\n]*\n(.*?)\n?```\s*\Z", re.DOTALL)


class CommitMessageWriter(Struct, frozen=True, kw_only=True):
    """Writes messages for the repositories of a workspace."""

    services: SessionServices
    model: Model
    temperature: float

    async def write(self, folder: Path | None) -> str:
        """Return the message for the repository that contains `folder`, or for that of the first workspace folder.
        Raises `SessionError`, `ToolError` and `ModelError`."""
        if self.model.name == OFFLINE:
            raise SessionError("The offline model cannot write commit messages. Set up a model first.", kind="no_model")
        context = reading_context(self.services)
        repository, below = await _place(context, folder)
        changes = await changes_of(context, repository, await commit_target(context, repository), below)
        if not changes.files:
            raise SessionError("There are no changes to commit.", kind="nothing_to_commit")
        marks = self.services.memory.marks
        text = "\n\n".join(changes.diffs)
        subjects = await _subjects(context, repository)
        parts = [
            *await self._instructions(),
            *([f"Recent subjects:\n{marks.around(subjects)}"] if subjects else []),
            f"Changed files:\n{marks.around(chr(10).join(changes.listed))}",
            f"Diff:\n{marks.around(text) if text else 'left out, because it is too long'}",
        ]
        await self.model.prepare()
        answer = await self.model.complete(
            ModelRequest(
                system=marks.explained(RULES),
                messages=(Message(role="user", content="\n\n".join(parts)),),
                tools=(),
                max_output_tokens=MAX_OUTPUT_TOKENS,
                temperature=self.temperature,
            )
        )
        if message := message_in(answer.text):
            return message
        raise ModelError(f"{self.model.name} gave no commit message. Try again.", type="server")

    async def _instructions(self) -> Sequence[str]:
        memory = self.services.memory
        found = await self.services.environment.instructions.of_workspace(memory.permissions.reading())
        masked = [await without_secrets(each, memory.secrets) for each in found if not each.problem]
        text = "\n\n".join(each.shown for each in masked)
        if not text:
            return ()
        return (f"Instructions of the project:\n{text[:MAX_INSTRUCTION_CHARS]}",)


def message_in(answer: str) -> str:
    """Return the commit message in a model's answer, without what models put around it."""
    text = visible(answer.replace("\r\n", "\n")).strip()
    if fenced := _FENCED.match(text[: 4 * MAX_MESSAGE_CHARS]):
        text = fenced[1].strip()
    first, *rest = text[:MAX_MESSAGE_CHARS].split("\n")
    if len(first) > 1 and first[0] == first[-1] and first[0] in "\"'`" and not any(each.strip() for each in rest):
        first = first[1:-1]
    return "\n".join(line.rstrip() for line in (first, *rest)).strip()


async def _place(context: ToolContext, folder: Path | None) -> tuple[Repository, Path]:
    """Return the repository, and the workspace folder whose changes are described. Raises `ToolError`."""
    folders = context.workspace.folders
    if folder is None:
        return await repository_of(context), context.workspace.resolve(".")
    for each in folders:
        if folder.is_relative_to(each):
            return await repository_of(context, str(folder)), each
    for each in folders:
        if each.is_relative_to(folder):
            repository = await repository_of(context, str(each))
            if repository.top == folder:
                return repository, each
    raise ToolError(f"{folder} is not in a workspace folder.")


async def _subjects(context: ToolContext, repository: Repository) -> str:
    options = ("--no-show-signature", "--no-ext-diff", "--no-merges", f"--max-count={N_SUBJECTS}", "--format=%s")
    result = await shown_git(context, repository, "log", *options, "--")
    return "" if result.exit_code else result.stdout.strip()
