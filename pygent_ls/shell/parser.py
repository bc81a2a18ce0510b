"""Parser of shell command lines into the simple commands that they would run; nothing is run or expanded."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

from pygent_ls.shell.bash_builtins import (
    NOTHING,
    changes_reading,
    evaluated,
    expanding,
    holds_substitution,
    run_by_setting,
)
from pygent_ls.shell.command_line import NEVER, Inner, ShellLine, SimpleCommand, Write
from pygent_ls.shell.grammar import UNFIT, parse
from pygent_ls.shell.strict_grammar import QUIET_TARGETS, read_strictly
from pygent_ls.shell.tree_coverage import accounts_for
from pygent_ls.shell.variables import lasting_variables, printed_for_sure
from pygent_ls.shell.words import ANY, GAP, HOME, Scope, decode_ansi_c, text_of, words_of
from pygent_ls.shell.wrappers import SHELLS, WrappedScript, WrappedWords, name_of, wrapped

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 12
"""Maximum depth of nested wrappers; a deeper line counts as unparseable."""

MAX_CHARS = 20_000
"""Maximum length of a line; a longer one counts as unparseable, and is unreadable in a prompt too."""

MAX_ARGUMENT_CHARS = 131_072
"""Maximum length of a program's argument on Linux (MAX_ARG_STRLEN), and thus of a line passed to a shell."""

MAX_INNER = 100
"""Maximum number of nested commands that are followed; `env -S` and `unbuffer` can double them with each level."""

MAX_INNER_CHARS = 2 * MAX_CHARS
"""Maximum total length of nested texts in a line, such as those after `bash -c`; each level counts again."""

MAX_WORDS = 20_000
"""Maximum number of words of all commands of a line, nested ones counted again; without nesting, a line has at most
half as many."""

MAX_VALUE_CHARS = 1_000
"""Maximum length of a variable's value that is tracked; `a=$a$a` doubles it with each step."""


@lru_cache(maxsize=512)
def read_line(text: str) -> ShellLine:
    """Parse a command line. Never raises: the result says if it is not understood."""
    reader = _LineReader(is_parsed=not UNFIT.search(text))
    reader.read(text)
    joined = re.sub(r"\$(IFS\b|\{IFS\})", " ", text.replace("\\\n", ""))
    if joined != text:  # bash joins lines, and splits at $IFS, before it looks for words
        reader.folder = ""
        reader.read(joined)
    if re.search(r"[$`|<]", text):
        wary = _LineReader(
            lasting=lasting_variables(joined, reader.commands) if len(text) <= MAX_CHARS else frozenset()
        )
        for each in dict.fromkeys([text, joined]):
            wary.folder = ""
            wary.read(each)
        reader.commands[:0] = [each for each in dict.fromkeys(wary.commands) if each not in set(reader.commands)]
        reader.is_parsed &= wary.is_parsed
    strict = _LineReader(is_strict=True)
    strict.read(text)
    return ShellLine(
        text=text,
        commands=tuple(reader.commands),
        writes=tuple(reader.writes),
        reads=tuple(dict.fromkeys([*reader.reads, *strict.reads])),
        is_parsed=reader.is_parsed,
        assigned=tuple(dict.fromkeys(reader.assigned)),
        fed=tuple(dict.fromkeys(reader.inputs)),
        plain=tuple(strict.commands) if reader.is_parsed and strict.is_parsed else None,
    )


_EVALUATION = re.compile(r"\(\(|\[\[|\$\[|\$\{[^\s:@!\[$]*+[:@!\[]|\b(let|declare|typeset|local)\b|\bPS4\b")
_SUBSCRIPT = re.compile(r"(?:\A|\w)\[")

_REDEFINITION = re.compile(r"\(\s*\)|\bfunction\b|alias|ALIAS|\benable\b|\bhash\b|BASH_")

_READING_COMMANDS = SHELLS | {"source", "."}
_TEXTS = frozenset({"raw_string", "string", "ansi_c_string", "concatenation", "word"})
"""Nodes that are words; outside commands they occur in `[[ … ]]`, `((…))` and an index, which bash expands."""

_PRINTERS = frozenset({"echo", "printf", "which", "command"})


class _Budget(Struct):
    """Remaining budget for reading one line, whatever it contains."""

    inner: int = MAX_INNER
    chars: int = MAX_INNER_CHARS
    words: int = MAX_WORDS


class _LineReader(Struct, kw_only=True):
    depth: int = 0
    folder: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    writes: list[Write] = field(default_factory=list[Write])
    reads: list[Write] = field(default_factory=list[Write])
    assigned: list[str] = field(default_factory=list[str])
    inputs: list[str] = field(default_factory=list[str])
    is_parsed: bool = True
    is_strict: bool = False
    """Whether only the strict grammar is used, also for the commands that others run."""
    lasting: frozenset[str] | None = None
    """Variables with one fixed value; nothing else that depends on earlier commands counts as known, neither other
    variables nor output. None counts what is likely as known too."""
    is_evaluating: bool = False
    """Whether the text has arithmetic or expansions, which run code in the values of variables."""
    is_redefining: bool = False
    """Whether the text may redefine `echo`."""
    back: dict[int, str] = field(default_factory=dict[int, str])
    """The characters that stand-ins in the parsed text replace."""
    piped: str | None = None
    """Output of the previous command in a pipeline, if known."""
    fed: list[str] = field(default_factory=list[str])
    """Content of the files that `<(…)` passes to a command, if known."""
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
        self.is_evaluating |= _is_evaluating(text)
        self.is_redefining |= _REDEFINITION.search(text) is not None
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
            is_wary=self.lasting is not None,
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
            case "file_redirect":
                self._redirect(node)
            case "$":
                self._give_up()
            case _ if node.type in _TEXTS:
                self._expand_text(node)
            case _:
                self._inside(node)

    def _inside(self, node: Node) -> None:
        """Read what a node contains that is not itself a command."""
        match node.type:
            case "for_statement":
                self._name_each(node)
            case "regex" | "extglob_pattern":  # one text to the grammar
                self._expand(text_of(node))
            case _:
                pass
        before = self.folder
        for child in node.children:
            self._visit(child)
        if node.type in ("subshell", "command_substitution", "process_substitution"):
            self.folder = before

    def _name_each(self, node: Node) -> None:
        """Set the variable of a loop to all of its values."""
        name = node.child_by_field_name("variable")
        if name is not None:
            values = [word for child in node.children_by_field_name("value") for word in words_of(child, self._scope)]
            self._set(text_of(name), " ".join(values) or ANY)
            self._expand_each(values)

    def _pipeline(self, node: Node) -> None:
        self.piped = None
        for child in node.named_children:
            count = len(self.commands)
            self._visit(child)
            printed = self._printed(self.commands[count:], [child])
            self.piped = self.piped if printed is None and self.lasting is None else printed  # `… | cat | sh`
        self.piped = None

    def _redirected(self, node: Node) -> None:
        stdin: str | None = None
        more: list[str] = []
        body: Node | None = node.child_by_field_name("body")
        count = len(self.commands)
        if body is not None and body.type != "command":  # belongs to the last command: `cd x && echo > y`
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
        self.inputs += [stdin] if stdin else []
        self._expand_each([stdin or ""])
        self._feed([stdin or "", *(self.fed if body is not None and body.type != "command" else [])], count)

    def _feed(self, texts: Sequence[str], count: int) -> None:
        """Read the input of the commands from `count` on, if one is a shell: `cat <<END | sh`."""
        if any(command.name in SHELLS for command in self.commands[count:]):
            for text in filter(None, texts):
                self.commands += self._nested(text)

    def _heredoc(self, node: Node) -> str:
        body = ""
        is_quoted = any(re.search(r"['\"\\]", text_of(each)) for each in node.children if each.type == "heredoc_start")
        for child in node.children:
            if child.type == "heredoc_body":
                body = text_of(child).translate(self.back)
                if not is_quoted and holds_substitution(body):
                    self.commands += self._nested(expanding(body))  # the tree has no substitutions of `<<-`
            if child.type not in ("heredoc_start", "heredoc_end"):
                self._visit(child)
        return body

    def _redirect(self, node: Node) -> list[str]:
        """Record a redirection and return the words after its target, which belong to the command."""
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
        piped = self.piped
        fed = list(self.fed) if node.parent is not None and node.parent.type == "redirected_statement" else []
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
        known = [each for each in (stdin, piped, "\n".join([*fed, *self.fed])) if each]
        self.fed.clear()
        self._expand_each([stdin or ""])
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
        if name is None:
            return
        self._visit(name)
        value_text = " ".join(words)
        if any(child.type == "+=" for child in node.children):
            value_text = self.variables.get(text_of(name), ANY) + value_text
        self._set(text_of(name), value_text)
        self.assigned.append(value_text)
        for script in run_by_setting(text_of(name), value_text):
            self._read_within(script)

    def _set(self, name: str, value: str) -> None:
        is_short = len(value) <= MAX_VALUE_CHARS
        self.is_parsed &= is_short
        is_known = is_short and (self.lasting is None or name in self.lasting)
        self.variables[name] = value if is_known else ANY

    def _run(self, node: Node) -> str:
        """Read the commands of a substitution; return what they would print, if known."""
        count = len(self.commands)
        self._inside(node)
        printed = self._printed(self.commands[count:], node.named_children)
        if node.type == "process_substitution":
            self.fed.append(printed or "")
        return ANY if node.type != "command_substitution" or printed is None else printed

    def _read_within(self, text: str) -> None:
        """Record the commands of a substitution that the grammar left as text."""
        self.commands += self._nested(text.translate(self.back))

    def _expand_each(self, words: Sequence[str]) -> None:
        """Record what words run in later arithmetic: `read x <<< 'a[$(y)]'; echo $((x))`."""
        if self.is_evaluating:
            for word in words:
                self._expand(word)

    def _expand_text(self, node: Node) -> None:
        for word in words_of(node, self._scope):
            self._expand(word)

    def _expand(self, text: str) -> None:
        if holds_substitution(text):
            self._read_within(expanding(text))

    def _printed(self, commands: Sequence[SimpleCommand], nodes: Sequence[Node]) -> str | None:
        """Return what the commands of these nodes print; None if unknown."""
        if len(commands) != 1 or commands[0].name not in _PRINTERS:
            return None
        if self.lasting is not None:
            is_plain = len(nodes) == 1 and _is_plain(nodes[0]) and not self.is_redefining
            return printed_for_sure(commands[0].words) if is_plain else None
        words = [word for word in commands[0].words[1:] if not re.fullmatch(r"-[neEvp]+", word)]
        if commands[0].name == "printf" and words and "%" in words[0]:
            words = words[1:]
        return " ".join(words)

    def _take(self, words: Sequence[str], stdin: str | None) -> None:
        if not words:
            return
        command = self._simple(words, stdin)
        self.commands.append(command)
        self.inputs += [stdin] if stdin else []
        self._expand_each(words[1:])
        if command.name in ("cd", "pushd", "chdir"):
            self._change_folder(command.words[1:])

    def _simple(self, words: Sequence[str], stdin: str | None = None) -> SimpleCommand:
        inner: list[Inner] = []
        scripts: list[str] = []
        self.budget.words -= len(words)
        if self.depth > MAX_DEPTH or self.budget.words < 0:
            self._give_up()
            first = next(wrapped(words), None) if self.depth == 0 else None
            return SimpleCommand(words=tuple(words), folder=self.folder, runs=self._flat_runs(words, first))
        for each in wrapped(words):
            self.budget.inner -= 1
            if self.budget.inner < 0:
                self._give_up()
                inner += self._flat_runs(words, each)
                break
            match each:
                case WrappedWords(begin=begin, end=end):
                    self.depth += 1
                    inner.append(Inner(begin=begin, command=self._simple(words[begin:end], stdin)))
                    self.depth -= 1
                case WrappedScript(text=text):
                    scripts.append(text)
        scripts += evaluated(words)
        if changes_reading(words):
            self._give_up()
        if stdin is not None and name_of(words) in _READING_COMMANDS:
            scripts.append(stdin)
        for text in scripts:
            inner += [Inner(begin=NEVER, command=command) for command in self._nested(text)]
        return SimpleCommand(words=tuple(words), folder=self.folder, runs=tuple(inner))

    def _nested(self, text: str) -> Sequence[SimpleCommand]:
        self.budget.chars -= len(text)
        if self.budget.chars < 0:
            self._give_up()
            return self._flat(text)
        nested = _LineReader(
            depth=self.depth + 1,
            folder=self.folder,
            variables=self.variables,
            reads=self.reads,
            assigned=self.assigned,
            inputs=self.inputs,
            budget=self.budget,
            is_strict=self.is_strict,
            lasting=None if self.lasting is None else frozenset(),
            is_evaluating=self.is_evaluating,
            is_redefining=self.is_redefining,
        )
        nested.read(text)
        if "\\\n" in text and not self.is_strict:  # bash joins lines before it looks for words
            nested.read(text.replace("\\\n", ""))
        self.writes += nested.writes
        self.is_parsed &= nested.is_parsed
        unknown = [SimpleCommand(words=(ANY,), folder=self.folder)] if ANY in text else []  # may be anything
        return [*(each for each in nested.commands if each.words[0] != NOTHING), *unknown]

    def _flat_runs(self, words: Sequence[str], first: WrappedWords | WrappedScript | None) -> tuple[Inner, ...]:
        if first is None:
            return ()
        text = first.text if isinstance(first, WrappedScript) else " ".join(words[first.begin : first.end])
        return tuple(Inner(begin=NEVER, command=command) for command in self._flat(text))

    def _flat(self, text: str) -> Sequence[SimpleCommand]:
        """Return the possible commands of a text for which no budget is left."""
        pieces = (re.sub(r"['\"\\]", "", piece).split() for piece in re.split(r"[;&|\n(){}`]", text))
        return [SimpleCommand(words=tuple(words), folder=self.folder) for words in pieces if words]

    def _change_folder(self, given: Sequence[str]) -> None:
        targets = [word for word in given if not re.fullmatch(r"-[LPe@n]+|--", word)]
        target = targets[0] if targets else HOME
        is_elsewhere = target == "-" or "CDPATH" in self.variables
        self.folder = posixpath.join(self.folder, ANY if is_elsewhere else target)

    # Fallback for text that is not understood

    def _guess(self, text: str) -> None:
        """Guess the commands in a text that is not understood, by splitting it at every possible start of one."""
        text = re.sub(r"\$'((?:[^'\\]|\\.)*+)'", lambda found: decode_ansi_c(found[1]), text, flags=re.DOTALL)
        text = re.sub(r"\{([^{}\s,]*+,[^{}\s]*)\}", lambda found: found[1].replace(",", " "), text)
        for piece in dict.fromkeys(re.split(r"[;&|\n(){}`]", re.sub(r"\$?['\"]|\\", "", text))):
            words = re.sub(rf"\$(\w+|\{{\w+\}})|{UNFIT.pattern}", self._guessed, piece).split()
            words = [re.sub(r"^~(?=/|$)", HOME, word) for word in words]
            while words and re.fullmatch(r"if|then|elif|else|do|while|until|!|\w+=.*", words[0]):
                words = words[1:]
            self._take([word for word in words if not re.match(r"\d*[<>]", word)], None)

    def _guessed(self, found: re.Match[str]) -> str:
        name = (found[1] or "").strip("{}")
        return " " if name in ("", "IFS") else {"HOME": HOME, **self.variables}.get(name, ANY)


def _is_plain(node: Node) -> bool:
    """Whether a node is a command without a redirection."""
    return node.type == "command" and not any(child.type.endswith("redirect") for child in node.children)


def _is_evaluating(text: str) -> bool:
    """Whether bash may do arithmetic or a second expansion in a text, which runs code in the values of variables."""
    if _EVALUATION.search(text):
        return True
    subscripts = ((_SUBSCRIPT.search(piece), piece) for piece in text.split("]"))  # `a[$i`
    return any(found and "$" in piece[found.end() :] for found, piece in subscripts)


def _dropped(body: Node, statement: Node) -> list[str]:
    """Return the `-` that tree-sitter-bash 0.25 drops between a command and its here-document: `python - <<END`."""
    following = body.next_sibling
    if following is None:
        return []
    between = (statement.text or b"")[
        body.end_byte - statement.start_byte : following.start_byte - statement.start_byte
    ]
    return ["-"] if between.strip() == b"-" else []
