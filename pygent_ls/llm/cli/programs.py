"""The command-line programs that can be a model: those that are known, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pygent_ls.agent.conversation_text import TextForm

PREFIX = "cli:"

MODEL = "{model}"
"""In a command: the model that the program is to use, as `cli:NAME/MODEL` names it."""

CONVERSATION = "{conversation}"
"""In a command: the conversation, for a program that takes it as an argument and not on its standard input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CliProgram:
    """How a program is called. It reads the conversation and writes the answer."""

    command: tuple[str, ...]
    """The program and its arguments; `{model}` and `{conversation}` stand for what their constants say."""
    form: TextForm = "markdown"
    stream: bool = True
    """What it writes is passed on as it comes."""
    model_option: tuple[str, ...] = ()
    """Added where a model is named and the command has no place for it."""
    keys: tuple[str, ...] | None = None
    """How the names begin of the variables with keys that it is given; None: it is given all that there are."""
    noise: str = ""
    """A regular expression for lines of its output that are no part of the answer; where it is set, nothing is passed
    on before the end."""

    @property
    def needs_model(self) -> bool:
        """Whether it cannot be called without the name of a model."""
        return any(MODEL in part for part in self.command)

    def arguments(self, model: str) -> tuple[str, ...]:
        """The command with the model in it; `model` may be empty where none is needed."""
        added = self.model_option if model and not self.needs_model else ()
        return tuple(part.replace(MODEL, model) for part in (*self.command, *added))


CONTINUE = "Write the assistant's next message in the conversation that you are given, and nothing else."

CALL_IN_BLOCKS = (
    "The conversation shows calls that were made in another form: write yours as `tool` blocks all the same."
)
"""For a program that is offered tools."""

PRESETS: Mapping[str, CliProgram] = {
    # Both options are needed to take all tools away: the second for those of the user's own MCP servers. Its text
    # comes at the end, all at once.
    "claude": CliProgram(
        command=(
            *("claude", "--print", "--output-format", "text", "--no-session-persistence"),
            *("--tools", "", "--strict-mcp-config", "--system-prompt", CONTINUE),
        ),
        model_option=("--model", MODEL),
        keys=("ANTHROPIC_",),
    ),
    # What it is told in --prompt comes after what it reads. Tools that would have to ask are off when nobody is there.
    "gemini": CliProgram(
        command=("gemini", "--prompt", CONTINUE, "--output-format", "text"),
        model_option=("--model", MODEL),
        keys=("GEMINI_", "GOOGLE_"),
    ),
    # It wraps words unless it is told not to, also where no terminal reads it.
    "ollama": CliProgram(
        command=("ollama", "run", MODEL, "--nowordwrap", "--hidethinking"), form="plain", keys=("OLLAMA_",)
    ),
    # It takes its task as an argument, and writes its log to the same output.
    "coro": CliProgram(
        command=("coro", "--max-steps", "1", CONVERSATION),
        form="plain",
        model_option=("--model", MODEL),
        noise=r"[ \t]*+\d{4}-\d\d-\d\dT\S+Z[ \t]+(?:TRACE|DEBUG|INFO|WARN|ERROR)\s.*",
    ),
}
"""The options are those of claude 2.1, gemini-cli 0.40, ollama 0.9 and coro-code's main branch, by their own pages."""
