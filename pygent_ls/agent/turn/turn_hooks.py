"""Hooks of a turn: those of its prompt may deny it, and those of its end may prevent that."""

from __future__ import annotations

from pygent_ls.agent.events import Notice
from pygent_ls.agent.hook_runner import NO_REASON, HookRunner, hook_block
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import TextBlock
from pygent_ls.agent.ports.hooks import NOTHING, HookEvent, HookSource
from pygent_ls.agent.run_context import RunContext

MAX_STOP_DENIALS = 5
"""Maximum number of times that hooks may keep one turn from ending: enough for a test suite that is fixed step by step.
Each costs at least one model call, and a hook that always denies costs no more than these."""

NOT_DONE = (
    "A program that the user configured checks whether you are done, and it says that you are not. Its message "
    "follows. Act on it as far as it serves the user's request, then end your turn."
)


async def run_prompt_hooks(
    hooks: HookRunner, prompt: str, source: HookSource | None
) -> tuple[tuple[TextBlock, ...], str | None]:
    """Run the hooks on a prompt, with which the session may start. Return the context that precedes the prompt, and why
    the prompt may not be sent; None if it may."""
    started = NOTHING if source is None else await hooks.fire("session_start", {"source": source})
    said = await hooks.fire("user_prompt_submit", {"prompt": prompt})
    if said.decision == "deny":
        return (), f"A hook that you configured denied this prompt, so it was not sent: {said.reason or NO_REASON}"
    both: tuple[tuple[HookEvent, str], ...] = (
        ("session_start", started.context),
        ("user_prompt_submit", said.context),
    )
    return tuple(hook_block(event, text) for event, text in both if text), None


async def run_stop_hooks(context: RunContext, reason: StopReason, n_denials: int) -> tuple[TextBlock, ...]:
    """Return what has to be done before the turn may end; empty if it may end. Only a turn with the stop reason
    `end_turn` is kept from ending, at most `MAX_STOP_DENIALS` times; `n_denials` times it was already."""
    event: HookEvent = "stop" if context.spec.parent_tool_id is None else "subagent_stop"
    if not context.hooks.listens(event):
        return ()
    from pygent_ls.agent.calls.call_hooks import fire_on_saved_files  # the first request does not wait for it

    said = await fire_on_saved_files(context, event, {"reason": reason})
    if said.decision != "deny" or reason != "end_turn":
        return ()
    if n_denials >= MAX_STOP_DENIALS:
        problem = f"A {event} hook has prevented the turn from ending {MAX_STOP_DENIALS} times; the turn ends now."
        await context.emit(Notice(content=problem, level="warning"))
        return ()
    return TextBlock(text=NOT_DONE), hook_block(event, said.reason or NO_REASON)
