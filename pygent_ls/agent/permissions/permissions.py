"""Decision on a call, in this order: what is always refused, deny rules, plan mode, a hook's deny or ask, ask rules,
allow rules, a hook's allow, the mode, the risk. In a restricted workspace the mode is plan, and no rule or hook allows
anything."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from msgspec import Struct, field

from pygent_ls.agent.admin_limits import STRICTEST_FIRST, AdminLimits
from pygent_ls.agent.kinds import DecidedBy, Mode, ToolRisk
from pygent_ls.agent.permissions.autorun_files import acts_later
from pygent_ls.agent.permissions.refusals import Protected
from pygent_ls.agent.permissions.server_files import runs_in_a_server
from pygent_ls.agent.ports.approver import PermissionAnswer
from pygent_ls.agent.ports.hooks import NOTHING, HookOutcome
from pygent_ls.agent.ports.output_store import READER
from pygent_ls.agent.ports.web import UrlVerdict
from pygent_ls.agent.rules import globs
from pygent_ls.agent.rules.matcher import Case, Match, allows
from pygent_ls.agent.rules.read_rules import FileRead, Reading, ReadingCase
from pygent_ls.agent.rules.rule import Domain, Rule, RuleDecision, host_of, whole_command
from pygent_ls.agent.tools.tool import Tool, cd_prefix
from pygent_ls.errors import SessionError
from pygent_ls.shell.parser import read_line

EDITS_ACCEPTED = frozenset(
    {
        "edit_file",
        "multi_edit",
        "edit_notebook",
        "apply_patch",
        "create_file",
        "copy_file",
        "rename_symbol",
        "apply_code_action",
    }
)
"""Tools that `accept_edits` allows: changes that an undo reverts, and no moves or deletions."""

WORKSPACE_SETTINGS = ".pygent"
"""Folder with a workspace's own settings."""

NOT_WRITING = frozenset({"shell", "web_fetch", "git_add", "run_tests"})
"""Tools that do not write the paths that they name."""

UPSTREAM = {"git_push": "@{push}", "git_pull": "@{upstream}"}
"""Name of the branch's own remote in rules, as in git."""

PLANNING = frozenset({"plan", "ask_user"})
"""Tools that plan mode allows although they are not marked as read-only: they change only the conversation."""

EXTERNAL_TOOL = "external_tool"
"""Name of a call of an external agent of which is not known what it acts on."""

TASK = "task"
"""Tool that starts a subagent, whose own calls are judged separately."""

RESTRICTED = (
    "the editor does not trust this workspace, so only reading is allowed until the user trusts the workspace in "
    "the editor"
)


def stricter(mode: Mode, other: Mode | None) -> Mode:
    """Return the stricter of two modes."""
    return mode if other is None or STRICTEST_FIRST.index(mode) <= STRICTEST_FIRST.index(other) else other


class Verdict(Struct, frozen=True, kw_only=True):
    """Decision on a call, and who made it."""

    decision: RuleDecision
    by: DecidedBy
    reason: str = ""
    needs_person: bool = False
    """Whether a rule of the administrator asks, which a person answers, not a program in their place."""


class Places(Struct, frozen=True, kw_only=True):
    """Places where a call acts besides its subjects; all with `/`."""

    paths: tuple[str, ...] = ()
    """Absolute paths of its files, links resolved."""
    spelled: tuple[str, ...] = ()
    """Paths as the model wrote them, for deny and ask rules about a link's own name."""
    folder: str = ""
    """Absolute folder in which a command begins."""
    reads: tuple[FileRead, ...] = ()
    """Files that a command may show, for the rules about `read_file`."""
    are_held: bool = False
    """Whether the command runs in the sandbox, which protects the places that it may not write."""


class Policy(Struct, frozen=True, kw_only=True):
    """Permission settings, the same for every session."""

    rules: tuple[Rule, ...] = ()
    may_bypass: bool = False
    """Whether the user's own file allows the mode `bypass`."""
    protected: Protected = field(default_factory=Protected)
    planners: frozenset[str] = frozenset({"plan", "review"})
    """Agents that only plan; plan mode allows subagents of these."""
    is_restricted: bool = False
    """Whether the editor does not trust the workspace: the mode is then plan whatever else is set, and no rule or hook
    allows."""
    has_language_servers: bool = False
    """Whether the daemon starts language servers, which run code of the workspace outside of the sandbox."""
    admin: AdminLimits = field(default_factory=AdminLimits)
    """What the administrator keeps sessions from choosing."""


class RuleStore(Protocol):
    """Storage of the rules of "Always allow" and "Always reject" for this workspace, outside the workspace's own
    files."""

    def load(self) -> Sequence[Rule]:
        """Return the stored rules; damaged ones are left out."""
        ...

    def add(self, rule: Rule) -> None:
        """Store a rule; duplicates are stored once."""
        ...

    def remove(self, text: str) -> bool:
        """Remove a rule. Return False if it is not stored."""
        ...


class Permissions:
    """One session's mode and rules."""

    def __init__(self, mode: Mode, store: RuleStore, policy: Policy | None = None) -> None:
        """Raises `SessionError` for a mode that the settings do not allow."""
        self._policy = policy or Policy()
        self._check_settings(mode)
        self._mode: Mode = mode
        self._was_set = False
        self._turn_mode: Mode | None = None
        self._watching: list[Callable[[], None]] = []
        self._store = store
        self._session_rules: list[Rule] = []

    @property
    def mode(self) -> Mode:
        """Mode in effect: the running turn's own, else the session's; plan if the workspace is restricted."""
        return "plan" if self.is_restricted else self._turn_mode or self._mode

    @property
    def is_restricted(self) -> bool:
        """Whether the editor does not trust the workspace (`Policy.is_restricted`)."""
        return self._policy.is_restricted

    @property
    def admin(self) -> AdminLimits:
        """What the administrator keeps sessions from choosing."""
        return self._policy.admin

    def is_mode_allowed(self, mode: Mode) -> bool:
        """Whether `check_mode` accepts the mode."""
        try:
            self.check_mode(mode)
        except SessionError:
            return False
        return True

    def check_mode(self, mode: Mode | None) -> None:
        """Raises `SessionError`: `locked_by_admin` for a mode that the administrator does not allow,
        `bypass_not_allowed` for `bypass` if the user's own settings do not allow it, `restricted` for every mode but
        `plan` in a restricted workspace."""
        self._check_settings(mode)
        if self.is_restricted and mode not in (None, "plan"):
            raise SessionError(
                f"mode: {mode} is not available while the editor does not trust this workspace. Only plan mode, "
                "which reads and changes nothing, is allowed. Trust the workspace in the editor to use other "
                "modes.",
                kind="restricted",
            )

    def _check_settings(self, mode: Mode | None) -> None:
        if mode is None:
            return
        self.admin.check_mode(mode)
        if mode == "bypass" and not self._policy.may_bypass:
            self.admin.check("allow_bypass")
            raise SessionError(
                "mode: bypass needs `allow_bypass = true` in your own configuration file (not in a workspace's)",
                kind="bypass_not_allowed",
            )

    @property
    def own_mode(self) -> Mode | None:
        """Mode that was set for this session; None if the settings' mode applies."""
        return self._mode if self._was_set else None

    def set_mode(self, mode: Mode) -> None:
        """Set the session's mode; a running turn follows from its next check. Raises as `check_mode` does."""
        self.check_mode(mode)
        self._mode = mode
        self._was_set = True
        self._turn_mode = None
        self._tell()

    def inherit_mode(self, mode: Mode) -> None:
        """Set the session's mode to another session's; a mode that is not allowed here is ignored."""
        with suppress(SessionError):
            self.set_mode(mode)

    def take(self, policy: Policy, usual: Mode) -> None:
        """Apply new settings; `usual` is the mode of a session for which none was set."""
        self._policy = policy
        try:
            self._check_settings(self._mode if self._was_set else usual)
        except SessionError:
            self._mode = usual
        else:
            self._mode = self._mode if self._was_set else usual

    def move(self, other: Permissions) -> None:
        """Switch to the stored rules and the settings of `other`; the session's own rules stay."""
        self._store = other._store
        self.take(other._policy, other._mode)
        self._tell()

    def set_turn_mode(self, mode: Mode | None) -> None:
        """Set the mode of the turn that begins, or None when it is over. Raises as `check_mode` does."""
        self.check_mode(mode)
        self._turn_mode = mode

    @property
    def has_session_rules(self) -> bool:
        """Whether the user allowed something for this session only, which is stored nowhere else."""
        return bool(self._session_rules)

    def rules(self) -> list[Rule]:
        """Return every rule in effect: the session's own, those of "Always allow" and "Always reject", those of the
        settings."""
        return [*self._session_rules, *self._store.load(), *self._policy.rules]

    def reading(self) -> Reading:
        """Return the current rules on which files must not be shown."""
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
        """Judge a call by its subjects (shown paths, the command, the address) and the outcome of hooks, in no looser
        mode than `ceiling`; with `as_if`, as in that mode.

        An allow rule must cover each subject; a deny or ask rule counts when it is about any part of one.
        """
        places = places or Places()
        if reason := self._refusal(tool, subjects, places):
            return Verdict(decision="deny", by="rule", reason=f"{reason}; no rule, mode or answer allows it")
        # the administrator's come first, and a workspace's last: the first one that denies gives the reason
        every_rule = sorted(self.rules(), key=lambda rule: {"admin": 0, "workspace": 2}.get(rule.origin, 1))
        rules = [rule for rule in every_rule if rule.is_about(tool.name)]
        case, reads = Case([*subjects, *places.spelled]), ReadingCase(places.reads)
        strict = [(rule, case.concerned_by(rule)) for rule in rules if rule.decision != "allow"]
        strict += [(rule, reads.concerned_by(rule)) for rule in Reading.of(every_rule).rules if places.reads]
        for rule, match in strict:
            if rule.decision == "deny" and match is Match.YES:
                return Verdict(decision="deny", by="rule", reason=self._why_denied(rule))
        mode = stricter(as_if or self.mode, ceiling)
        if mode == "plan" and (reason := self._beyond_plans(tool, subjects)):
            return Verdict(decision="deny", by="mode", reason=reason)
        of_admin = any(match and rule.origin == "admin" for rule, match in strict)
        if hook.decision in ("deny", "ask"):
            return Verdict(decision=hook.decision, by="hook", reason=hook.reason, needs_person=of_admin)
        if any(match for _, match in strict) or _changes_settings(tool, [*subjects, *places.paths, *places.spelled]):
            return Verdict(decision="ask", by="rule", needs_person=of_admin)
        allowing = [rule for rule in rules if rule.decision == "allow"]
        return self._passed(tool, subjects, places, hook, mode, allowing)

    def allows_unasked(self, tool: Tool) -> bool:
        """Whether the tool may be used where no call can be judged: no rule denies or asks about any call, and the mode
        denies none."""
        if any(rule.is_about(tool.name) and rule.decision != "allow" for rule in self.rules()):
            return False
        verdict = self.decide(tool, ("",))
        return verdict.decision == "allow" or (verdict.decision == "ask" and verdict.by == "mode")

    def _passed(
        self,
        tool: Tool,
        subjects: Sequence[str],
        places: Places,
        hook: HookOutcome,
        mode: Mode,
        allowing: Sequence[Rule],
    ) -> Verdict:
        """Judge a call that no deny or ask rule, plan mode or hook stops."""
        if self.is_restricted:  # only the user's own answer to a question allows what the risk does not
            is_low = tool.risk is ToolRisk.LOW
            return Verdict(decision="allow", by="mode") if is_low else Verdict(decision="ask", by="rule")
        if allows(allowing, subjects):
            return Verdict(decision="allow", by="rule")
        if hook.decision == "allow":
            return Verdict(decision="allow", by="hook")
        relative = [path for path in places.spelled if not path.startswith("/")]
        acts = tool.name not in NOT_WRITING and any(map(self._acts_later, [*subjects, *relative]))
        return _by_mode(mode, tool, acts=acts)

    def _why_denied(self, rule: Rule) -> str:
        """Explain a denial to the user and the model, which takes a refusal for our own words: text of a workspace's
        file is not quoted."""
        if rule.origin == "workspace":
            return "a rule in the workspace's own settings denies it"
        return f"the rule {rule.text} denies it" + (f", {self.admin.locked_by}" if rule.origin == "admin" else "")

    def _acts_later(self, path: str) -> bool:
        return acts_later(path) or (self._policy.has_language_servers and runs_in_a_server(path))

    def _beyond_plans(self, tool: Tool, subjects: Sequence[str]) -> str:
        """Return why plan mode refuses the call; empty if it does not."""
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
        """Store the rules of the answers "for this session", "Always allow" and "Always reject"."""
        match answer.outcome:
            case "allow_session":
                self._session_rules += [Rule(text=text, decision="allow", origin="session") for text in rule_texts]
            case "allow_always":
                for text in rule_texts:
                    self._store.add(Rule(text=text, decision="allow", origin="always_allow"))
            case "reject_always":
                for text in rule_texts:
                    self._store.remove(text)  # a rule that allows the same
                    self._store.add(Rule(text=text, decision="deny", origin="always_reject"))
            case "allow_once" | "reject_once" | "cancelled":
                pass

    def forget(self, rule_text: str) -> bool:
        """Remove a rule, wherever it is stored. Return False if it was not found."""
        kept = [rule for rule in self._session_rules if rule.text != rule_text]
        dropped = len(kept) < len(self._session_rules)
        self._session_rules = kept
        forgotten = self._store.remove(rule_text) or dropped
        self._tell()
        return forgotten

    @contextmanager
    def watched(self, look_again: Callable[[], None]) -> Generator[None]:
        """Call `look_again` within the context whenever the mode or a rule changes: an open question may be settled by
        it."""
        self._watching.append(look_again)
        try:
            yield
        finally:
            self._watching.remove(look_again)

    def _tell(self) -> None:
        for look_again in list(self._watching):
            look_again()


def _by_mode(mode: Mode, tool: Tool, *, acts: bool) -> Verdict:
    """Judge a call by the mode. `acts`: it writes what makes a program act later, which only the user's own answer
    allows."""
    match mode:
        case "bypass":
            return Verdict(decision="allow", by="mode")
        case "accept_edits" if tool.name in EDITS_ACCEPTED and not acts:
            return Verdict(decision="allow", by="mode")
        case "trust" if tool.risk is ToolRisk.MEDIUM and not acts:
            return Verdict(decision="allow", by="mode")
        case "default" | "accept_edits" | "plan" | "trust":
            return Verdict(decision="allow" if tool.risk is ToolRisk.LOW else "ask", by="mode")


def _changes_settings(tool: Tool, paths: Sequence[str]) -> bool:
    """Whether it writes in a workspace's own settings, which may tighten permissions: that always asks."""
    if tool.read_only or tool.name in NOT_WRITING:
        return False
    return any(WORKSPACE_SETTINGS in path.casefold().split("/") for path in paths)


def subjects_of(tool: Tool, given: Mapping[str, Any], shown_paths: Sequence[str]) -> tuple[str, ...]:
    """Return what a rule's pattern is compared with: the command of `shell` with the folder it runs in, the address of
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
    """Return the rules that "Always allow" stores: this tool on exactly these subjects.

    Empty for a command or an address that cannot be parsed, which no rule allows, for input to a running command, for
    commands that run outside of the sandbox, and for calls of an external agent that do not say what they act on. A
    rule for a tool of an MCP server or of the editor covers the whole tool.
    """
    if tool.name in ("shell_input", EXTERNAL_TOOL) or tool.command_argument:
        return ()
    if tool.name.startswith(("mcp__", "editor__")):
        return (tool.name,)
    if tool.name == "shell":
        return tuple(whole_command(command) for command in subjects if command != "*" and read_line(command).is_parsed)
    if tool.name == "web_fetch":
        return tuple(f"web_fetch(domain:{host})" for url in subjects if (host := host_of(url)))
    named = [subject for subject in subjects if subject]
    if not named:
        return (tool.name,) if tool.name != READER else ()  # a stored result is not a file
    return tuple(f"{tool.name}({globs.escape(path)})" for path in named)


def judge_url(permissions: Permissions, tool: Tool, url: str) -> UrlVerdict:
    """Return what the rules say about an address that a call of this tool would reach."""
    decision = permissions.decide(tool, (url,)).decision
    if decision == "deny":
        return "denied"
    for rule in permissions.rules():
        if rule.decision == "allow" and rule.tool_name == tool.name and rule.origin not in ("session", "always_allow"):
            pattern = rule.pattern
            if isinstance(pattern, Domain) and pattern.matches(url):
                return "anywhere"
    return "allowed" if decision == "allow" else "ask"
