"""How a call is allowed: what is always refused, deny rules, plan mode, a hook's deny or ask, ask rules, allow rules, a
hook's allow, the mode, the risk. In a restricted workspace the mode is plan, and no rule or hook allows anything."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pygent_ls.agent import globs
from pygent_ls.agent.acting_places import acts_later
from pygent_ls.agent.approver import PermissionAnswer
from pygent_ls.agent.events import DecidedBy
from pygent_ls.agent.hooks import NOTHING, HookOutcome
from pygent_ls.agent.matching import Case, Match, allows
from pygent_ls.agent.outputs import READER
from pygent_ls.agent.reading_rules import FileRead, Reading, ReadingCase
from pygent_ls.agent.refusals import Protected
from pygent_ls.agent.rules import Rule, RuleDecision, host_of, whole_command
from pygent_ls.agent.tool import Tool, ToolRisk, cd_prefix
from pygent_ls.errors import SessionError
from pygent_ls.shell.parser import read_line

Mode = Literal["default", "accept_edits", "plan", "trust", "bypass"]

EDITS_ACCEPTED = frozenset({"edit_file", "multi_edit", "apply_patch", "create_file", "copy_file"})
"""What `accept_edits` passes: changes that an undo takes back, and no moves or deletions."""

WORKSPACE_SETTINGS = ".pygent"
"""The folder with a workspace's own settings."""

NOT_WRITING = frozenset({"shell", "web_fetch", "git_add", "run_tests"})
"""Tools that do not write the paths that they name."""

UPSTREAM = {"git_push": "@{push}", "git_pull": "@{upstream}"}
"""What a rule calls the branch's own remote, as git does."""

PLANNING = frozenset({"plan", "ask_user"})
"""What plan mode passes although it is not marked as reading only: it changes nothing but the conversation."""

TASK = "task"
"""The tool that starts a subagent, whose own calls are judged each by itself."""

RESTRICTED = (
    "the editor does not trust this workspace, so only reading is allowed until the user trusts the workspace in "
    "the editor"
)

STRICTEST_FIRST: tuple[Mode, ...] = ("plan", "default", "accept_edits", "trust", "bypass")
"""Each passes all that the one before it passes."""


def stricter(mode: Mode, other: Mode | None) -> Mode:
    """The one of both that passes less."""
    return mode if other is None or STRICTEST_FIRST.index(mode) <= STRICTEST_FIRST.index(other) else other


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to happen with a call, and who said so."""

    decision: RuleDecision
    by: DecidedBy
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a call acts, beside its subjects; all with `/`."""

    paths: tuple[str, ...] = ()
    """The absolute paths of its files, links resolved."""
    spelled: tuple[str, ...] = ()
    """The paths as the model wrote them, for deny and ask rules about a link's own name."""
    folder: str = ""
    """The absolute folder in which a command begins."""
    reads: tuple[FileRead, ...] = ()
    """What a command may show of files, for the rules about `read_file`."""
    are_held: bool = False
    """The command runs in the sandbox, which keeps what it may not write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the settings say, for every session alike."""

    rules: tuple[Rule, ...] = ()
    may_bypass: bool = False
    """The user's own file allows the mode `bypass`."""
    protected: Protected = field(default_factory=Protected)
    planners: frozenset[str] = frozenset({"plan", "review"})
    """The agents that only plan, of which plan mode lets subagents be made."""
    is_restricted: bool = False
    """The editor does not trust the workspace: whatever else is set, the mode is plan, and no rule or hook allows."""


class RuleStore(Protocol):
    """Keeps the rules of "Always allow" and "Always reject" for this workspace, outside the workspace's own files."""

    def load(self) -> Sequence[Rule]:
        """The stored rules; damaged ones are left out."""
        ...

    def add(self, rule: Rule) -> None:
        """Store a rule; one that is there already stays once."""
        ...

    def remove(self, text: str) -> bool:
        """Take a rule back; False where there is none."""
        ...


class Permissions:
    """One session's mode and rules."""

    def __init__(self, mode: Mode, store: RuleStore, policy: Policy | None = None) -> None:
        """Raises `SessionError` for a mode that the settings do not allow."""
        self._policy = policy or Policy()
        self._check_bypass(mode)
        self._mode: Mode = mode
        self._was_set = False
        self._turn_mode: Mode | None = None
        self._watching: list[Callable[[], None]] = []
        self._store = store
        self._session_rules: list[Rule] = []

    @property
    def mode(self) -> Mode:
        """What counts now: the running turn's own mode, else the session's; plan where the workspace is restricted."""
        return "plan" if self.is_restricted else self._turn_mode or self._mode

    @property
    def is_restricted(self) -> bool:
        """See `Policy`."""
        return self._policy.is_restricted

    def check_mode(self, mode: Mode | None) -> None:
        """Raises `SessionError`: `bypass_not_allowed` for `bypass` where the user's own settings do not allow it,
        `restricted` for every mode but `plan` where the workspace is."""
        self._check_bypass(mode)
        if self.is_restricted and mode not in (None, "plan"):
            raise SessionError(
                f"mode: {mode} is not available while the editor does not trust this workspace. Only plan mode, "
                "which reads and changes nothing, is allowed. Trust the workspace in the editor to use other "
                "modes.",
                kind="restricted",
            )

    def _check_bypass(self, mode: Mode | None) -> None:
        if mode == "bypass" and not self._policy.may_bypass:
            raise SessionError(
                "mode: bypass needs `allow_bypass = true` in your own configuration file (not in a workspace's)",
                kind="bypass_not_allowed",
            )

    @property
    def own_mode(self) -> Mode | None:
        """The mode that was set for this session; None where the settings' counts."""
        return self._mode if self._was_set else None

    def set_mode(self, mode: Mode) -> None:
        """Set the session's mode; a running turn follows from its next check. Raises as `check_mode` does."""
        self.check_mode(mode)
        self._mode = mode
        self._was_set = True
        self._turn_mode = None
        self._tell()

    def inherit_mode(self, mode: Mode) -> None:
        """Set the session's mode to what another one's was; one that is not to be had here is left out."""
        with suppress(SessionError):
            self.set_mode(mode)

    def take(self, policy: Policy, usual: Mode) -> None:
        """Take what the settings say by now; `usual` is the mode of a session for which none was set."""
        self._policy = policy
        if not self._was_set or (self._mode == "bypass" and not policy.may_bypass):
            self._mode = usual

    def move(self, other: Permissions) -> None:
        """Go by the stored rules and the settings of the other ones from now on; the session's own rules stay."""
        self._store = other._store
        self.take(other._policy, other._mode)
        self._tell()

    def set_turn_mode(self, mode: Mode | None) -> None:
        """Set the mode of the turn that begins, or None when it is over. Raises as `check_mode` does."""
        self.check_mode(mode)
        self._turn_mode = mode

    @property
    def has_session_rules(self) -> bool:
        """Whether the user allowed something for this session: it is nowhere but here."""
        return bool(self._session_rules)

    def rules(self) -> list[Rule]:
        """Every rule that counts: the session's own, those of "Always allow", those of the settings."""
        return [*self._session_rules, *self._store.load(), *self._policy.rules]

    def reading(self) -> Reading:
        """Which files must not be shown, as things stand."""
        return Reading.of(self.rules())

    def decide(
        self,
        tool: Tool,
        subjects: Sequence[str],
        places: Places | None = None,
        hook: HookOutcome = NOTHING,
        ceiling: Mode | None = None,
        as_if: Mode | None = None,
    ) -> Verdict:
        """Judge a call whose subjects (shown paths, the command, the address) are these, and of which a hook said this,
        in no looser mode than `ceiling`; with `as_if`, as in that mode.

        An allow rule must cover each subject; a deny or ask rule counts when it is about any part of one.
        """
        places = places or Places()
        if reason := self._refusal(tool, subjects, places):
            return Verdict(decision="deny", by="rule", reason=f"{reason}; no rule, mode or answer allows it")
        every_rule = sorted(self.rules(), key=lambda rule: rule.origin == "workspace")  # the user's own come first
        rules = [rule for rule in every_rule if rule.tool_name == tool.name]
        case, reads = Case([*subjects, *places.spelled]), ReadingCase(places.reads)
        strict = [(rule, case.concerned_by(rule)) for rule in rules if rule.decision != "allow"]
        strict += [(rule, reads.concerned_by(rule)) for rule in Reading.of(every_rule).rules if places.reads]
        for rule, match in strict:
            if rule.decision == "deny" and match is Match.YES:
                return Verdict(decision="deny", by="rule", reason=_why_denied(rule))
        mode = stricter(as_if or self.mode, ceiling)
        if mode == "plan" and (reason := self._beyond_plans(tool, subjects)):
            return Verdict(decision="deny", by="mode", reason=reason)
        if hook.decision in ("deny", "ask"):
            return Verdict(decision=hook.decision, by="hook", reason=hook.reason)
        if any(match for _, match in strict) or _changes_settings(tool, [*subjects, *places.paths, *places.spelled]):
            return Verdict(decision="ask", by="rule")
        allowing = [rule for rule in rules if rule.decision == "allow"]
        return self._passed(tool, subjects, places, hook, mode, allowing)

    def _passed(
        self,
        tool: Tool,
        subjects: Sequence[str],
        places: Places,
        hook: HookOutcome,
        mode: Mode,
        allowing: Sequence[Rule],
    ) -> Verdict:
        """Judge a call that nothing forbids and nobody wants to be asked about."""
        if self.is_restricted:  # only the user's own answer to a question allows what the risk does not
            is_low = tool.risk is ToolRisk.LOW
            return Verdict(decision="allow", by="mode") if is_low else Verdict(decision="ask", by="rule")
        if allows(allowing, subjects):
            return Verdict(decision="allow", by="rule")
        if hook.decision == "allow":
            return Verdict(decision="allow", by="hook")
        relative = [path for path in places.spelled if not path.startswith("/")]
        acts = tool.name not in NOT_WRITING and any(map(acts_later, [*subjects, *relative]))
        return _by_mode(mode, tool, acts=acts)

    def _beyond_plans(self, tool: Tool, subjects: Sequence[str]) -> str:
        """Why plan mode refuses the call; empty where it does not."""
        if tool.read_only or tool.name in PLANNING:
            return ""
        if tool.name != TASK:
            return RESTRICTED if self.is_restricted else "plan mode allows reading only"
        if self._policy.planners.issuperset(filter(None, subjects)):
            return ""
        return f"plan mode allows only planning subagents: {', '.join(sorted(self._policy.planners))}"

    def _refusal(self, tool: Tool, subjects: Sequence[str], places: Places) -> str | None:
        protected = self._policy.protected
        if reason := protected.reason_against_reading(places.paths):
            return reason
        if tool.read_only:
            return None
        if tool.name == "shell":
            lines = map(read_line, subjects)
            reasons = [protected.reason_against_line(line, places.folder, is_held=places.are_held) for line in lines]
        else:
            reasons = [protected.reason_against_path(path) for path in (*places.paths, *subjects)]
        return next((reason for reason in reasons if reason), None)

    def remember(self, rule_texts: Sequence[str], answer: PermissionAnswer) -> None:
        """Keep what "for this session", "Always allow" and "Always reject" promised."""
        match answer.outcome:
            case "allow_session":
                self._session_rules += [Rule(text=text, decision="allow", origin="session") for text in rule_texts]
            case "allow_always":
                for text in rule_texts:
                    self._store.add(Rule(text=text, decision="allow", origin="always_allow"))
            case "reject_always":
                for text in rule_texts:
                    self._store.remove(text)  # one that allows the same
                    self._store.add(Rule(text=text, decision="deny", origin="always_reject"))
            case "allow_once" | "reject_once" | "cancelled":
                pass

    def forget(self, rule_text: str) -> bool:
        """Take a rule back, wherever it is kept; False where there is none."""
        kept = [rule for rule in self._session_rules if rule.text != rule_text]
        dropped = len(kept) < len(self._session_rules)
        self._session_rules = kept
        forgotten = self._store.remove(rule_text) or dropped
        self._tell()
        return forgotten

    @contextmanager
    def watched(self, look_again: Callable[[], None]) -> Generator[None]:
        """Inside of it, `look_again` is called whenever the mode or a rule was changed: an open question may be settled
        by it."""
        self._watching.append(look_again)
        try:
            yield
        finally:
            self._watching.remove(look_again)

    def _tell(self) -> None:
        for look_again in list(self._watching):
            look_again()


def _by_mode(mode: Mode, tool: Tool, *, acts: bool) -> Verdict:
    """`acts`: it writes what makes a program act later, which only the user's own word passes."""
    match mode:
        case "bypass":
            return Verdict(decision="allow", by="mode")
        case "accept_edits" if tool.name in EDITS_ACCEPTED and not acts:
            return Verdict(decision="allow", by="mode")
        case "trust" if tool.risk is ToolRisk.MEDIUM and not acts:
            return Verdict(decision="allow", by="mode")
        case "default" | "accept_edits" | "plan" | "trust":
            return Verdict(decision="allow" if tool.risk is ToolRisk.LOW else "ask", by="mode")


def _why_denied(rule: Rule) -> str:
    """For the user and the model, which takes a refusal for our own words: none of a workspace's file are in it."""
    if rule.origin == "workspace":
        return "a rule in the workspace's own settings denies it"
    return f"the rule {rule.text} denies it"


def _changes_settings(tool: Tool, paths: Sequence[str]) -> bool:
    """Whether it writes in a workspace's own settings, which hold what tightens: that is always asked for."""
    if tool.read_only or tool.name in NOT_WRITING:
        return False
    return any(WORKSPACE_SETTINGS in path.casefold().split("/") for path in paths)


def subjects_of(tool: Tool, given: Mapping[str, Any], shown_paths: Sequence[str]) -> tuple[str, ...]:
    """What a rule's pattern is held against: the command of `shell` with the folder it runs in, the address of
    `web_fetch`, the remote and the branch of `git_push` and `git_pull`, the branch of `git_checkout` as git would have
    it (`main --`), the agent of `task`, else the paths."""
    if tool.name == "shell":
        return (cd_prefix(given) + str(given.get("command", "")),)
    if tool.name == "web_fetch":
        return (str(given.get("url", "")),)
    if tool.name in UPSTREAM:
        words = (given.get("remote") or UPSTREAM[tool.name], given.get("branch"))
        return (" ".join(str(word) for word in words if word),)
    if tool.name == "git_checkout" and not given.get("paths"):
        return (f"{given.get('target', '')} --",)
    if tool.name == TASK:
        return (str(given.get("agent") or ""),)
    return tuple(shown_paths) or tool.paths_in(given)


def narrowest_rules(tool: Tool, subjects: Sequence[str]) -> tuple[str, ...]:
    """The rules that "Always allow" stores: this tool on just these subjects, nothing wider.

    None for a command or an address that cannot be parsed, which no rule allows, and for what is typed into a running
    command. The tools of MCP servers have rules as a whole.
    """
    if tool.name == "shell_input":
        return ()
    if tool.name.startswith("mcp__"):
        return (tool.name,)
    if tool.name == "shell":
        return tuple(whole_command(command) for command in subjects if command != "*" and read_line(command).is_parsed)
    if tool.name == "web_fetch":
        return tuple(f"web_fetch(domain:{host})" for url in subjects if (host := host_of(url)))
    named = [subject for subject in subjects if subject]
    if not named:
        return (tool.name,) if tool.name != READER else ()  # a result that was kept, and no file
    return tuple(f"{tool.name}({globs.escape(path)})" for path in named)
