"""A shell command line taken apart into the simple commands that it would run; nothing is run and nothing expanded."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pygent_ls.shell.accounting import accounts_for
from pygent_ls.shell.builtins import NOTHING, evaluated, expanding, holds_substitution
from pygent_ls.shell.grammar import UNFIT, parse
from pygent_ls.shell.line import NEVER, Inner, ShellLine, SimpleCommand, Write
from pygent_ls.shell.strict import QUIET_TARGETS, read_strictly
from pygent_ls.shell.words import ANY, GAP, HOME, Scope, decode_ansi_c, text_of, words_of
from pygent_ls.shell.wrappers import SHELLS, Script, Words, name_of, wrapped

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 12
"""Wrappers within wrappers that are followed; a line that goes deeper counts as one that cannot be parsed."""

MAX_CHARS = 20_000
"""A longer line counts as one that cannot be parsed: nobody reads it in a prompt either."""

MAX_ARGUMENT_CHARS = 131_072
"""No program can be given a longer argument on Linux (MAX_ARG_STRLEN), and so no shell such a line."""

MAX_INNER = 100
"""Commands within others that are followed; `env -S` and `unbuffer` can double them with each level."""

MAX_WORDS = 20_000
"""Words of all commands of a line, those within others counted again; a line without such has at most half as many."""

MAX_VALUE_CHARS = 1_000
"""Of a variable that is followed; `a=$a$a` doubles it with each step."""


@lru_cache(maxsize=512)
def read_line(text: str) -> ShellLine:
    """Take a command line apart. Never raises: what is not understood says so."""
    reader = _Reader(is_parsed=not UNFIT.search(text))
    reader.read(text)
    joined = re.sub(r"\$(IFS\b|\{IFS\})", " ", text.replace("\\\n", ""))
    if joined != text:  # bash joins the lines, and splits there, before it looks for words
        reader.folder = ""
        reader.read(joined)
    strict = _Reader(is_strict=True)
    strict.read(text)
    return ShellLine(
        text=text,
        commands=tuple(reader.commands),
        writes=tuple(reader.writes),
        reads=tuple(dict.fromkeys([*reader.reads, *strict.reads])),
        is_parsed=reader.is_parsed,
        plain=tuple(strict.commands) if reader.is_parsed and strict.is_parsed else None,
    )


_READING_COMMANDS = SHELLS | {"source", "."}
_PRINTERS = frozenset({"echo", "printf", "which", "command"})


@dataclass(slots=True)
class _Budget:
    """What the reading of one line may still cost, whatever stands in it."""

    inner: int = MAX_INNER
    words: int = MAX_WORDS


@dataclass(kw_only=True)
class _Reader:
    depth: int = 0
    folder: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    writes: list[Write] = field(default_factory=list[Write])
    reads: list[Write] = field(default_factory=list[Write])
    is_parsed: bool = True
    is_strict: bool = False
    """Reads by the strict grammar alone, also what commands are made to run."""
    back: dict[int, str] = field(default_factory=dict[int, str])
    """The characters that stand-ins in the parsed text stand for."""
    piped: str | None = None
    """What the command before in a pipeline prints, where that is known."""
    fed: list[str] = field(default_factory=list[str])
    """What a command finds in the files that `<(…)` gives it, where that is known."""
    budget: _Budget = field(default_factory=_Budget)

    def read(self, text: str) -> None:
        given = text
        text = text.replace(ANY, "${_unknown}").replace(HOME, "${HOME}").replace(GAP, " ")
        if len(text) > MAX_CHARS:
            self.is_parsed = False
            self._guess(given[:MAX_ARGUMENT_CHARS])
            return
        if self.depth > MAX_DEPTH:
            self.is_parsed = False
            return
        if self.is_strict:
            self._read_strictly(text)
            return
        parsed = parse(text)
        if parsed is None:
            self.is_parsed = False
            self._guess(text)
            return
        tree, self.back, source = parsed
        root = tree.root_node
        if root.has_error or UNFIT.search(text) or not accounts_for(root, source):
            self.is_parsed = False
            self._guess(text)
        try:
            self._visit(root)
        except RecursionError:
            self.is_parsed = False

    def _read_strictly(self, text: str) -> None:
        line = read_strictly(text)
        if line is None:
            self.is_parsed = False
            return
        begun = self.folder
        for index, words in enumerate(line.commands):
            self.reads += [Write(path=path, folder=self.folder) for at, path in line.reads if at == index]
            self._take(words, None)
        self.folder = begun

    @property
    def _scope(self) -> Scope:
        return Scope(
            variables=self.variables,
            run=self._run,
            read=self._read_within,
            back=self.back,
            give_up=self._give_up,
        )

    def _give_up(self) -> None:
        self.is_parsed = False

    # Statements

    def _visit(self, node: Node) -> None:
        match node.type:
            case "command":
                self._command(node, stdin=None)
            case "redirected_statement":
                self._redirected(node)
            case "pipeline":
                self._pipeline(node)
            case "declaration_command":
                self._declaration(node)
            case "variable_assignment":
                self._assign(node)
            case "for_statement":
                self._name_each(node)
                self._inside(node)
            case "file_redirect":
                self._redirect(node)
            case "$":
                self._give_up()
            case "raw_string" if holds_substitution(text_of(node)):  # in `[[ … ]]`, `((…))` and an index
                self._read_within(expanding(text_of(node)[1:-1]))
            case _:
                self._inside(node)

    def _inside(self, node: Node) -> None:
        """What stands in a node that is no command itself."""
        before = self.folder
        for child in node.children:
            self._visit(child)
        if node.type in ("subshell", "command_substitution", "process_substitution"):
            self.folder = before

    def _name_each(self, node: Node) -> None:
        """Let the variable of a loop stand for all that it will."""
        name = node.child_by_field_name("variable")
        if name is not None:
            values = [word for child in node.children_by_field_name("value") for word in words_of(child, self._scope)]
            self._set(text_of(name), " ".join(values) or ANY)

    def _pipeline(self, node: Node) -> None:
        self.piped = None
        for child in node.named_children:
            count = len(self.commands)
            self._visit(child)
            self.piped = self._printed(self.commands[count:]) if child.type == "command" else None
        self.piped = None

    def _redirected(self, node: Node) -> None:
        stdin: str | None = None
        more: list[str] = []
        body: Node | None = node.child_by_field_name("body")
        count = len(self.commands)
        if body is not None and body.type != "command":  # its redirection is the last command's: `cd x && echo > y`
            self._visit(body)
        for child in node.children:
            match child.type:
                case "file_redirect":
                    more += self._redirect(child)
                case "heredoc_redirect":
                    stdin = self._heredoc(child)
                case "herestring_redirect":
                    stdin = "".join(words_of(child.children[-1], self._scope))
                case _ if child != body:
                    self._visit(child)
                case _:
                    pass
        if body is not None and body.type == "command":
            self._command(body, stdin=stdin, more=[*_dropped(body, node), *more])
        elif body is not None:
            self.is_parsed &= not more
        else:
            self._take(more, None)
        if stdin is not None and any(command.name in SHELLS for command in self.commands[count:]):
            self.commands += self._nested(stdin)  # `cat <<END | sh`: what is fed to one may reach the other

    def _heredoc(self, node: Node) -> str:
        body = ""
        is_quoted = any(re.search(r"['\"\\]", text_of(each)) for each in node.children if each.type == "heredoc_start")
        for child in node.children:
            if child.type == "heredoc_body":
                body = text_of(child).translate(self.back)
                if not is_quoted and holds_substitution(body):
                    self.commands += self._nested(expanding(body))  # the tree has none of `<<-`
            if child.type not in ("heredoc_start", "heredoc_end"):
                self._visit(child)
        return body

    def _redirect(self, node: Node) -> list[str]:
        """Take note of a redirection; returns the words behind its target, which are the command's."""
        operator = next((child.type for child in node.children if child.type.startswith(("<", ">", "&"))), "")
        named = node.children_by_field_name("destination")
        targets = [word for child in named for word in words_of(child, self._scope)]
        target = targets[0] if targets else ANY
        is_duplicate = operator in (">&", "<&") and re.fullmatch(r"\d+|-|\d+-", target) is not None
        is_read = operator in ("<", "<&") and not re.match(rf"/dev/(tcp|udp)|{ANY}", target)
        file = Write(path=target, folder=self.folder)
        self.reads += [file] if operator.startswith("<") else []
        if not (is_duplicate or is_read or (target in QUIET_TARGETS and operator != "<>")):
            self.writes.append(file)
        return targets[1:]

    # Commands

    def _command(self, node: Node, *, stdin: str | None, more: Sequence[str] = ()) -> None:
        words: list[str] = []
        piped, self.piped = self.piped, None
        self.fed.clear()
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    self._assign(child)
                case "herestring_redirect":
                    stdin = "".join(words_of(child.children[-1], self._scope))
                case "file_redirect":
                    words += self._redirect(child)
                case "file_descriptor" | "comment":
                    pass
                case _:
                    words += words_of(child, self._scope)
        known = [each for each in (stdin, piped, "\n".join(self.fed)) if each]
        self._take([*words, *more], known[0] if known else stdin)

    def _declaration(self, node: Node) -> None:
        words: list[str] = []
        for child in node.children:
            if child.type == "variable_assignment":
                self._assign(child)
                words.append(text_of(child).translate(self.back))
            else:
                words += words_of(child, self._scope) if child.is_named else [text_of(child)]
        self._take(words, None)

    def _assign(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        words = words_of(value, self._scope) if value is not None else [""]
        if name is not None:
            self._visit(name)
            self._set(text_of(name), " ".join(words))
        for word in filter(holds_substitution, words):  # `PS4='$(x)'`, and numbers that are computed with later
            self._read_within(expanding(word))

    def _set(self, name: str, value: str) -> None:
        is_short = len(value) <= MAX_VALUE_CHARS
        self.is_parsed &= is_short
        self.variables[name] = value if is_short else ANY

    def _run(self, node: Node) -> str:
        """The commands of a substitution; returns what they would print, where that is known."""
        count = len(self.commands)
        self._inside(node)
        printed = self._printed(self.commands[count:])
        if node.type == "process_substitution":
            self.fed.append(printed or "")
        return ANY if node.type != "command_substitution" or printed is None else printed

    def _read_within(self, text: str) -> None:
        """Take note of the commands of a substitution that the grammar has left as text."""
        self.commands += self._nested(text.translate(self.back))

    def _printed(self, commands: Sequence[SimpleCommand]) -> str | None:
        if len(commands) != 1 or commands[0].name not in _PRINTERS:
            return None
        words = [word for word in commands[0].words[1:] if not re.fullmatch(r"-[neEvp]+", word)]
        if commands[0].name == "printf" and words and "%" in words[0]:
            words = words[1:]
        return " ".join(words)

    def _take(self, words: Sequence[str], stdin: str | None) -> None:
        if not words:
            return
        command = self._simple(words, stdin)
        self.commands.append(command)
        if command.name in ("cd", "pushd", "chdir"):
            self._change_folder(command.words[1:])

    def _simple(self, words: Sequence[str], stdin: str | None = None) -> SimpleCommand:
        inner: list[Inner] = []
        scripts: list[str] = []
        self.budget.words -= len(words)
        if self.depth > MAX_DEPTH or self.budget.words < 0:
            self._give_up()
            return SimpleCommand(words=tuple(words), folder=self.folder)
        for each in wrapped(words):
            self.budget.inner -= 1
            if self.budget.inner < 0:
                self._give_up()
                break
            match each:
                case Words(begin=begin, end=end):
                    self.depth += 1
                    inner.append(Inner(begin=begin, command=self._simple(words[begin:end], stdin)))
                    self.depth -= 1
                case Script(text=text):
                    scripts.append(text)
        scripts += evaluated(words)
        if stdin is not None and name_of(words) in _READING_COMMANDS and not scripts:
            scripts.append(stdin)
        for text in scripts:
            inner += [Inner(begin=NEVER, command=command) for command in self._nested(text)]
        return SimpleCommand(words=tuple(words), folder=self.folder, runs=tuple(inner))

    def _nested(self, text: str) -> Sequence[SimpleCommand]:
        nested = _Reader(
            depth=self.depth + 1,
            folder=self.folder,
            variables=self.variables,
            reads=self.reads,
            budget=self.budget,
            is_strict=self.is_strict,
        )
        nested.read(text)
        self.writes += nested.writes
        self.is_parsed &= nested.is_parsed
        return [each for each in nested.commands if each.words[0] != NOTHING]

    def _change_folder(self, given: Sequence[str]) -> None:
        targets = [word for word in given if not re.fullmatch(r"-[LPe@n]+|--", word)]
        target = targets[0] if targets else HOME
        self.folder = posixpath.join(self.folder, ANY if target == "-" else target)

    # What is not understood

    def _guess(self, text: str) -> None:
        """The commands that may stand in a text which is not understood, by splitting it wherever one may begin."""
        text = re.sub(r"\$'((?:[^'\\]|\\.)*+)'", lambda found: decode_ansi_c(found[1]), text, flags=re.DOTALL)
        text = re.sub(r"\{([^{}\s,]*+,[^{}\s]*)\}", lambda found: found[1].replace(",", " "), text)
        for piece in dict.fromkeys(re.split(r"[;&|\n(){}`]", re.sub(r"\$?['\"]|\\", "", text))):
            words = re.sub(rf"\$(\w+|\{{\w+\}})|{UNFIT.pattern}", self._guessed, piece).split()
            while words and re.fullmatch(r"if|then|elif|else|do|while|until|!|\w+=.*", words[0]):
                words = words[1:]
            self._take([word for word in words if not re.match(r"\d*[<>]", word)], None)

    def _guessed(self, found: re.Match[str]) -> str:
        name = (found[1] or "").strip("{}")
        return " " if name in ("", "IFS") else {"HOME": HOME, **self.variables}.get(name, ANY)


def _dropped(body: Node, statement: Node) -> list[str]:
    """The `-` that tree-sitter-bash 0.25 drops between a command and its here-document: `python - <<END`."""
    following = body.next_sibling
    if following is None:
        return []
    between = (statement.text or b"")[
        body.end_byte - statement.start_byte : following.start_byte - statement.start_byte
    ]
    return ["-"] if between.strip() == b"-" else []
