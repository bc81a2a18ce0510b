"""Types of expressions, as far as annotations state them; `any` otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tree_sitter import Node

from clients.neovim.scripts.checking.library import Library
from clients.neovim.scripts.checking.source import (
    Source,
    arguments_of,
    required_module,
    string_of,
    text_of,
)
from clients.neovim.scripts.checking.type_text import (
    ANY,
    NIL,
    Function,
    Literal,
    Named,
    Type,
    TypeTextError,
    optional,
    parse_type,
    union,
)

BOOLEAN, STRING, NUMBER = Named("boolean"), Named("string"), Named("number")
COMPARISONS = frozenset({"==", "~=", "<", ">", "<=", ">="})


@dataclass
class Scopes:
    """The types of the variables that are seen from a place; the innermost scope is the last."""

    stack: list[dict[str, Type]] = field(default_factory=lambda: [{}])

    def get(self, name: str) -> Type | None:
        """None where no variable of that name is there."""
        return next((scope[name] for scope in reversed(self.stack) if name in scope), None)

    def set(self, name: str, type_: Type) -> None:
        """In the innermost scope."""
        self.stack[-1][name] = type_


@dataclass
class Inference:
    """Types of one file's expressions."""

    library: Library
    source: Source
    scopes: Scopes
    vague: set[str]
    """Variables that get other values later: of what they hold, annotations alone say something."""

    def type_of(self, node: Node) -> Type:
        """The type of an expression."""
        cast = self.source.casts.get(node.end_byte)
        if cast is not None:
            return parse_or_any(cast)
        handler = _HANDLERS.get(node.type)
        return handler(self, node) if handler else ANY

    def identifier(self, node: Node) -> Type:
        """A variable."""
        return self.scopes.get(text_of(node)) or ANY

    def field(self, node: Node) -> Type:
        """The type of `a.b`, and of `a:b`."""
        whole = self.runtime_name(node)
        if whole:
            return self.library.functions.get(whole, ANY)
        owner, name = node.child_by_field_name("table"), node.child_by_field_name("field")
        name = name or node.child_by_field_name("method")
        if owner is None or name is None:
            return ANY
        return self.library.field(self.type_of(owner), text_of(name)) or ANY

    def runtime_name(self, node: Node) -> str | None:
        """`vim.api.nvim_get_current_buf` of such an expression."""
        code = text_of(node)
        return code if re.fullmatch(r"vim(\.\w+)+", code) and self.scopes.get("vim") is None else None

    def indexed(self, node: Node) -> Type:
        """`a[b]`."""
        owner, name = node.child_by_field_name("table"), node.child_by_field_name("field")
        if owner is None or name is None:
            return ANY
        literal = string_of(name)
        table = self.type_of(owner)
        return self.library.field(table, literal) or ANY if literal else optional(self.library.item(table))

    def called(self, node: Node) -> Type:
        """The first value that a call returns."""
        return (self.returns(node) or (ANY,))[0]

    def returns(self, node: Node) -> tuple[Type, ...] | None:
        """Return all types that a call returns; None if they are not known."""
        module = required_module(node)
        if module is not None:
            made = self.library.modules.get(module)
            return (Named(made) if made else ANY,)
        name, given = node.child_by_field_name("name"), arguments_of(node)
        called = text_of(name) if name else ""
        if called == "setmetatable" and len(given) == 2:
            return (self.type_of(given[1]),)
        if called == "assert" and given:
            return (self.type_of(given[0]),)
        if called in ("tostring", "type"):
            return (STRING,)
        function = self.callee(node)
        return function.returns if function else None

    def callee(self, node: Node) -> Function | None:
        """The one function that a call calls, as far as it is known."""
        name = node.child_by_field_name("name")
        if name is None:
            return None
        found = [one for one in self.library.alternatives(self.type_of(name)) if isinstance(one, Function)]
        return found[0] if len(found) == 1 else None

    def binary(self, node: Node) -> Type:
        """`a + b`, `a and b`."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = operator_of(node)
        if left is None or right is None:
            return ANY
        if sign == "and":
            return optional(self.type_of(right))
        if sign == "or":
            rest = self.library.alternatives(self.type_of(left))
            return union((*rest, self.type_of(right)))
        if sign in COMPARISONS:
            return BOOLEAN
        return STRING if sign == ".." else NUMBER

    def unary(self, node: Node) -> Type:
        """`not a`, `#a`, `-a`."""
        return BOOLEAN if node.children[0].type == "not" else NUMBER

    def bracketed(self, node: Node) -> Type:
        """`(a)`."""
        return self.type_of(node.named_children[0]) if node.named_children else ANY

    def literal(self, node: Node) -> Type:
        """A string."""
        text = string_of(node)
        return STRING if text is None or "\\" in text else Literal(text)


def operator_of(binary: Node) -> str:
    """The sign of `a == b`; a comment may stand beside it."""
    return next(child.type for child in binary.children if not child.is_named)


def parse_or_any(text: str) -> Type:
    """Return a type by its text; invalid types are reported elsewhere."""
    try:
        return parse_type(text)[0]
    except TypeTextError:
        return ANY


_HANDLERS: dict[str, Callable[[Inference, Node], Type]] = {
    "identifier": Inference.identifier,
    "dot_index_expression": Inference.field,
    "method_index_expression": Inference.field,
    "bracket_index_expression": Inference.indexed,
    "function_call": Inference.called,
    "binary_expression": Inference.binary,
    "unary_expression": Inference.unary,
    "parenthesized_expression": Inference.bracketed,
    "string": Inference.literal,
    "number": lambda _, __: NUMBER,
    "true": lambda _, __: Literal("true", "boolean"),
    "false": lambda _, __: Literal("false", "boolean"),
    "nil": lambda _, __: NIL,
}
