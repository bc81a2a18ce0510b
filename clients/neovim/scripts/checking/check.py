"""Finds where the plugin's code and its annotations say different things; CONTRIBUTING.md says what it does not see."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from clients.neovim.scripts.checking.annotation_rules import (
    block_problems,
    inline_problems,
    returns_in,
    signature_problems,
)
from clients.neovim.scripts.checking.annotations import Block, signature_of
from clients.neovim.scripts.checking.calls import arguments_wanted
from clients.neovim.scripts.checking.fitting import fits, spelled
from clients.neovim.scripts.checking.inference import COMPARISONS, Inference, Scopes, operator_of, parse_or_any
from clients.neovim.scripts.checking.library import (
    Library,
    declare_module,
    load_runtime,
    locals_assigned_again,
    modules_of,
)
from clients.neovim.scripts.checking.source import (
    NOTHING,
    Source,
    line_of,
    nodes_in,
    parameters_of,
    read_source,
    required_module,
    text_of,
    values_in,
)
from clients.neovim.scripts.checking.tables import table_problems
from clients.neovim.scripts.checking.type_text import (
    ANY,
    NIL,
    Field,
    Function,
    Literal,
    Named,
    Type,
    TypeTextError,
    parse_types,
)

SCALARS = (Named("string"), Named("integer"), Named("number"))


@dataclass(frozen=True, order=True)
class Problem:
    """What is wrong, and where; lines are counted from 1."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True, order=True)
class Use:
    """Something of Neovim's that the code names: `vim.api.nvim_buf_set_lines`, or the option of `vim.bo[1].tabstop`."""

    name: str
    path: Path
    line: int


def check_plugin(plugin: Path, runtime: Path) -> tuple[list[Problem], list[Use]]:
    """Check all Lua files of the plugin, whose modules are in its folder `lua`."""
    library = Library()
    load_runtime(library, runtime)
    modules = {path: module for module, path in modules_of(plugin)}
    sources = {path: read_source(path) for path in sorted(plugin.rglob("*.lua"))}
    bound = {path: declare_module(library, sources[path], module) for path, module in modules.items()}
    problems = set(_declared_twice(sources))
    uses: set[Use] = set()
    for path, source in sources.items():
        check = _Check(library, source, bound.get(path, {}))
        check.file()
        problems |= check.problems
        uses |= check.uses
    return sorted(problems), sorted(uses)


def _declared_twice(sources: dict[Path, Source]) -> Iterator[Problem]:
    """A type that two files declare would be one with the fields of both."""
    first: dict[str, str] = {}
    for path, source in sources.items():
        for block in source.blocks.values():
            for tag in (*block.all("class"), *block.all("alias"), *block.all("enum")):
                name = re.split(r"[\s:<]", re.sub(r"^\([^)]*\)\s*", "", tag.text))[0]
                where = first.setdefault(name, f"{path}:{tag.line}")
                if where != f"{path}:{tag.line}":
                    yield Problem(path, tag.line, f"`{name}` is declared at {where}, too")


@dataclass
class _Check:
    library: Library
    source: Source
    bound: dict[str, str]
    problems: set[Problem] = field(default_factory=set[Problem])
    uses: set[Use] = field(default_factory=set[Use])
    returns: list[tuple[Type, ...] | None] = field(default_factory=lambda: [None])
    """What the function around a statement returns; None if it has no annotation."""

    def __post_init__(self) -> None:
        vague = locals_assigned_again(self.source)
        self.inference = Inference(self.library, self.source, Scopes(), vague)
        self.scopes = self.inference.scopes

    def file(self) -> None:
        for node in nodes_in(self.source.tree):
            if node.type == "ERROR" or node.is_missing:
                self.tell(node, f"this is no Lua: `{text_of(node)[:40]}`")
            module = required_module(node)
            if module is not None and module.startswith("pygent") and module not in self.library.modules:
                self.tell(node, f"there is no module `{module}`")
        for block in self.source.blocks.values():
            self.tell_all(block_problems(self.library, block))
        self.tell_all(inline_problems(self.library, self.source))
        self.statements(self.source.tree)

    def tell(self, where: Node, message: str) -> None:
        self.problems.add(Problem(self.source.path, line_of(where), message))

    def tell_all(self, found: Iterable[tuple[int, str]]) -> None:
        self.problems |= {Problem(self.source.path, line, message) for line, message in found}

    @contextmanager
    def scope(self) -> Generator[None]:
        self.scopes.stack.append({})
        try:
            yield
        finally:
            self.scopes.stack.pop()

    def statements(self, block: Node | None) -> None:
        for statement in block.named_children if block else []:
            self.statement(statement)

    def statement(self, node: Node) -> None:
        match node.type:
            case "variable_declaration":
                self.declaration(node)
            case "assignment_statement":
                self.assignment(node)
            case "function_declaration":
                self.named_function(node)
            case "return_statement":
                self.returning(node)
            case "for_statement":
                self.loop(node)
            case "block" | "do_statement" | "else_statement" | "repeat_statement":
                with self.scope():
                    self.statements(node)
            case "if_statement" | "elseif_statement" | "while_statement":
                self.visit(node.child_by_field_name("condition"))
                for child in node.named_children[1:]:
                    self.statement(child)
            case _:
                self.visit(node)

    def declaration(self, node: Node) -> None:
        """`local a, b = …`."""
        inner = node.named_children[0]
        names = values_in(inner if inner.type == "assignment_statement" else node, "variable_list")
        values = values_in(inner, "expression_list")
        declared = self.declared_types(node)
        found = self.value_types(values)
        for index, name in enumerate(map(text_of, names)):
            wanted = declared[index] if index < len(declared) else None
            if index < len(values):
                self.visit(values[index], wanted)
                if wanted is not None:
                    self.expect(values[index], found[index], wanted, f"`{name}`")
            inferred = found[index] if index < len(found) and name not in self.inference.vague else ANY
            if name in self.bound and len(self.scopes.stack) == 1:
                inferred = Named(self.bound[name])
            self.scopes.set(name, wanted or inferred)

    def declared_types(self, node: Node) -> tuple[Type, ...]:
        behind, before = self.source.behind(node), self.source.before(node).all("type")
        text = behind or (before[0].text if before else None)
        try:
            return parse_types(text)[0] if text else ()
        except TypeTextError:
            return ()  # told with the annotations

    def value_types(self, values: list[Node]) -> list[Type]:
        """Return the types of values, the last of which may be a call that returns several."""
        found = [self.inference.type_of(value) for value in values]
        if values and values[-1].type == "function_call":
            found[-1:] = self.inference.returns(values[-1]) or [ANY]
        return found

    def assignment(self, node: Node) -> None:
        values = values_in(node, "expression_list")
        found = self.value_types(values)
        declared = self.declared_types(node)
        for index, target in enumerate(values_in(node, "variable_list")):
            at_top = len(self.scopes.stack) == 1 and text_of(target).split(".")[0] in self.bound
            if not at_top:
                self.visit(target)
            wanted = declared[0] if declared else self.inference.type_of(target)
            if index >= len(values):
                continue
            function = wanted if isinstance(wanted, Function) else None
            self.visit(values[index], function or wanted, self.source.before(node))
            self.expect(values[index], found[index], wanted, f"`{text_of(target)}`")

    def named_function(self, node: Node) -> None:
        block = self.source.before(node)
        name = text_of(node.child_by_field_name("name") or node)
        if not block.all("type") and (len(self.scopes.stack) == 1 or block.tags):
            self.tell_all(signature_problems(node, block, line_of(node)))
        signature = self.signature(node, block)
        if name.isidentifier():
            self.scopes.set(name, signature)
        self.body(node, signature, self.bound.get(name.split(":")[0]) if ":" in name else None)

    def signature(self, function: Node, block: Block) -> Function:
        """What annotations say of a function; a `---@type` before it says all at once."""
        names = parameters_of(function)
        declared = self.library.expanded(parse_or_any(block.all("type")[0].text)) if block.all("type") else None
        if isinstance(declared, Function):
            return Function(
                tuple(Field(name, one.type) for name, one in zip(names, declared.parameters, strict=False)),
                declared.returns,
            )
        try:
            return signature_of(block, parameters_of(function))
        except TypeTextError:
            return Function(tuple(Field(name, ANY, optional=True) for name in parameters_of(function)), None)

    def body(self, function: Node, signature: Function, owner: str | None = None) -> None:
        """The statements of a function; `owner` is the class of `self`."""
        with self.scope():
            if owner:
                self.scopes.set("self", Named(owner))
            for parameter in signature.parameters:
                self.scopes.set(parameter.name, parameter.type)
            self.returns.append(signature.returns)
            self.statements(function.child_by_field_name("body"))
            self.returns.pop()
        needed = [one for one in signature.returns or () if not fits(self.library, NIL, one)]
        if needed and not any(returns_in(function)) and "error(" not in text_of(function):
            self.tell(function, f"nothing is returned, where `{spelled(needed[0])}` is promised")

    def returning(self, node: Node) -> None:
        values, promised = values_in(node, "expression_list"), self.returns[-1]
        found = self.value_types(values)
        for index, value in enumerate(values):
            wanted = promised[index] if promised and index < len(promised) else None
            self.visit(value, wanted)
            if wanted is not None:
                self.expect(value, found[index], wanted, "what is returned")
        if not promised:
            return
        if len(values) > len(promised):
            self.tell(node, f"{len(values)} values are returned, where {len(promised)} are promised")
        ends_open = bool(values) and values[-1].type in ("function_call", "vararg_expression")
        missing = [one for one in promised[len(values) :] if not fits(self.library, NIL, one)]
        if missing and not ends_open:
            self.tell(node, f"`{spelled(missing[0])}` is promised, and not returned")

    def loop(self, node: Node) -> None:
        clause = node.child_by_field_name("clause")
        with self.scope():
            if clause is not None and clause.type == "for_generic_clause":
                self.generic_clause(clause)
            elif clause is not None:
                for each in clause.named_children[1:]:
                    self.visit(each)
                self.scopes.set(text_of(clause.named_children[0]), Named("integer"))
            self.statements(node.child_by_field_name("body"))

    def generic_clause(self, clause: Node) -> None:
        names, values = values_in(clause, "variable_list"), values_in(clause, "expression_list")
        for value in values:
            self.visit(value)
        types: list[Type] = [ANY] * len(names)
        call = values[0] if values and values[0].type == "function_call" else None
        called = text_of(call.child_by_field_name("name") or call) if call else ""
        if call and called in ("ipairs", "pairs", "vim.spairs"):
            over = (call.child_by_field_name("arguments") or call).named_children
            item = self.inference.library.item(self.inference.type_of(over[0])) if over else ANY
            types = [Named("integer") if called == "ipairs" else ANY, item, *types]
        for name, type_ in zip(map(text_of, names), types, strict=False):
            self.scopes.set(name, type_ if name not in self.inference.vague else ANY)

    def visit(self, node: Node | None, wanted: Type | None = None, block: Block = NOTHING) -> None:
        """An expression, where a value of the type `wanted` should stand."""
        if node is None:
            return
        match node.type:
            case "function_definition":
                self.anonymous(node, wanted, block)
            case "table_constructor":
                self.table(node, wanted)
            case "function_call":
                self.call(node)
            case "dot_index_expression" | "method_index_expression":
                self.access(node)
            case "binary_expression":
                self.binary(node, wanted)
            case _:
                for child in node.named_children:
                    self.visit(child, wanted if node.type == "parenthesized_expression" else None)

    def anonymous(self, node: Node, wanted: Type | None, block: Block) -> None:
        if block.all("param") or block.all("return"):
            self.tell_all(signature_problems(node, block, line_of(node)))
            self.body(node, self.signature(node, block))
            return
        functions = [one for one in self.library.alternatives(wanted or ANY) if isinstance(one, Function)]
        known = functions[0] if len(functions) == 1 else Function((), None)
        names = parameters_of(node)
        given = [*known.parameters, *([Field("", ANY)] * len(names))]
        parameters = tuple(Field(name, one.type) for name, one in zip(names, given, strict=False))
        self.body(node, Function(parameters, None))

    def table(self, node: Node, wanted: Type | None) -> None:
        if node.end_byte in self.source.casts:  # its author knows better
            wanted = None
        for field_node, value, type_ in table_problems(self.library, self.inference, node, wanted, self.tell):
            self.visit(value, type_)
            if type_ is not None:
                self.expect(value, self.inference.type_of(value), type_, f"`{field_node}`")

    def call(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        self.visit(name)
        for value, wanted, what in arguments_wanted(self.inference, node, self.tell):
            self.visit(value, wanted)
            if wanted is not None:
                self.expect(value, self.inference.type_of(value), wanted, what)

    def access(self, node: Node) -> None:
        """`a.b`, and the `a:b` of a call."""
        whole = self.inference.runtime_name(node)
        option = _option(text_of(node))
        if whole or option:
            self.uses.add(Use(whole or f"option {option}", self.source.path, line_of(node)))
        owner = node.child_by_field_name("table")
        name = node.child_by_field_name("field") or node.child_by_field_name("method")
        if owner is None or name is None or whole:
            return
        self.visit(owner)
        type_ = self.inference.type_of(owner)
        if self.library.field(type_, text_of(name)) is None:
            self.tell(name, f"`{spelled(type_)}` has no field `{text_of(name)}`")

    def binary(self, node: Node, wanted: Type | None) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = operator_of(node)
        self.visit(left, wanted if sign == "or" else None)
        self.visit(right, wanted if sign in ("or", "and") else None)
        if sign not in COMPARISONS or left is None or right is None:
            return
        for value, other in ((left, right), (right, left)):
            literal, type_ = self.inference.type_of(value), self.inference.type_of(other)
            choices = self.library.alternatives(type_)
            if not isinstance(literal, Literal) or value.type != "string" or self.is_of_neovim(other):
                continue
            if choices and all(isinstance(one, Literal) for one in choices) and literal not in choices:
                self.tell(node, f"it is never {spelled(literal)}: `{text_of(other)}` is {spelled(type_)}")

    def is_of_neovim(self, node: Node) -> bool:
        """Whether a value comes from Neovim, whose lists of constants leave some out."""
        owner = node.child_by_field_name("table") if node.type == "dot_index_expression" else None
        types = self.library.alternatives(self.inference.type_of(owner)) if owner else []
        names = [one.name for one in types if isinstance(one, Named)]
        return text_of(node).startswith("vim.") or any(name.startswith("vim.") for name in names)

    def expect(self, value: Node, given: Type, wanted: Type, what: str) -> None:
        if value.type in ("table_constructor", "function_definition") and not self.is_scalar(wanted):
            return
        if not fits(self.library, given, wanted):
            self.tell(value, f"{what} should be {spelled(wanted)}, and is {spelled(given)}")

    def is_scalar(self, type_: Type) -> bool:
        choices = self.library.alternatives(type_)
        return all(isinstance(one, Literal) or one in SCALARS for one in choices)


def _option(code: str) -> str | None:
    """The option of `vim.bo[buffer].filetype`."""
    found = re.fullmatch(r"vim\.[bw]o\[[^\]]*\](?:\[0\])?\.(\w+)", code)
    return found[1] if found else None
