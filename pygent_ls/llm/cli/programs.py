"""Command-line programs that can serve as models: presets, and how to call the user's own."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from pygent_ls.agent.context.conversation_text import TextForm

PREFIX = "cli:"

MODEL = "{model}"
"""Placeholder in a command for the model named by `cli:NAME/MODEL`."""

CONVERSATION = "{conversation}"
"""Placeholder in a command for the conversation, for a program that takes it as an argument and not on stdin."""


class CliProgram(Struct, frozen=True, kw_only=True):
    """How to call a program that reads the conversation and writes the answer."""

    command: tuple[str, ...]
    """The program and its arguments, with the placeholders `{model}` and `{conversation}`."""
    form: TextForm = "markdown"
    stream: bool = True
    """Whether its output is passed on as it arrives."""
    model_option: tuple[str, ...] = ()
    """Arguments added if a model is named and the command has no placeholder for it."""
    keys: tuple[str, ...] | None = None
    """Name prefixes of the key variables that it is given; None gives it all of them."""
    noise: str = ""
    """Regular expression for output lines outside the answer; if set, nothing is passed on before the end."""

    @property
    def needs_model(self) -> bool:
        """Whether it cannot be called without a model name."""
        return any(MODEL in part for part in self.command)

    def arguments(self, model: str) -> tuple[str, ...]:
        """Return the command with the model filled in; `model` may be empty if the program needs none."""
        added = self.model_option if model and not self.needs_model else ()
        return tuple(part.replace(MODEL, model) for part in (*self.command, *added))


CONTINUE = "Write the assistant's next message in the conversation that you are given, and nothing else."

CALL_IN_BLOCKS = (
    "The conversation shows calls that were made in another form: write yours as `tool` blocks all the same."
)
"""Instruction for a program that is offered tools."""

PRESETS: Mapping[str, CliProgram] = {
    # Both options are needed to disable all tools: the second one disables those of the user's MCP servers. The text is
    # written at the end, all at once.
    "claude": CliProgram(
        command=(
            *("claude", "--print", "--output-format", "text", "--no-session-persistence"),
            *("--tools", "", "--strict-mcp-config", "--system-prompt", CONTINUE),
        ),
        model_option=("--model", MODEL),
        keys=("ANTHROPIC_",),
    ),
    # The --prompt text follows what is read from stdin. Tools that need a confirmation are off in this mode.
    "gemini": CliProgram(
        command=("gemini", "--prompt", CONTINUE, "--output-format", "text"),
        model_option=("--model", MODEL),
        keys=("GEMINI_", "GOOGLE_"),
    ),
    # It wraps words unless told not to, even without a terminal.
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
"""Presets; the options are those documented for claude 2.1, gemini-cli 0.40, ollama 0.9 and coro-code's main branch."""
