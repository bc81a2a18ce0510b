"""Our types of standard LSP, against those that lsprotocol generates from the specification."""

from __future__ import annotations

import io
from enum import IntEnum
from pathlib import Path
from typing import Any, cast

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from lsprotocol.converters import get_converter
from msgspec import Struct, structs

from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.rpc.converter import structured
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.editors.lsp.server import PygentServer, standard_capabilities
from pygent_ls.editors.lsp.standard import Position
from tests.editors.lsp.editor import FakeBlueprint, Setup

CONVERTER = get_converter()
STRUCTS = [
    each
    for each in vars(lsp).values()
    if isinstance(each, type) and issubclass(each, Struct) and each not in (Struct, lsp.LspStruct)
]
ENUMERATIONS = [
    each for each in vars(lsp).values() if isinstance(each, type) and issubclass(each, IntEnum) and each is not IntEnum
]
METHODS = PygentServer(
    FakeBlueprint(setup=Setup(), state_folder=Path("/w")).read, cast("Any", io.BytesIO())
).endpoint.methods
MERGED = {"TextDocumentContentChangeEvent": ("TextDocumentContentChangePartial",)}
"""Types that LSP has as alternatives."""


def theirs_of(kind: type) -> Any:
    (name,) = MERGED.get(kind.__name__, (kind.__name__,))
    return getattr(types, name)


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda each: each.__name__)
def test_every_member_is_one_of_the_specification_and_no_other_is_required(kind: type[Struct]) -> None:
    theirs = {each.name: each for each in attrs.fields(theirs_of(kind))}

    for field in structs.fields(kind):
        assert field.name in theirs
        assert field.encode_name == camel(field.name)
        if field.required:
            assert theirs[field.name].default is attrs.NOTHING


@pytest.mark.parametrize("kind", ENUMERATIONS, ids=lambda each: each.__name__)
def test_every_number_is_that_of_the_specification(kind: type[IntEnum]) -> None:
    theirs = {each.name.upper(): each.value for each in getattr(types, kind.__name__)}

    assert {each.name: each.value for each in kind}.items() <= theirs.items()


@pytest.mark.parametrize("method", [each for each in METHODS if each in types.METHOD_TO_TYPES])
def test_each_standard_method_is_of_the_kind_and_has_the_parameters_of_the_specification(method: str) -> None:
    message = types.METHOD_TO_TYPES[method][0]
    params = METHODS[method].params

    assert METHODS[method].is_request == any(each.name == "id" for each in attrs.fields(message))
    if params is not None:
        (theirs,) = (each for each in attrs.fields(message) if each.name == "params")
        assert params.__name__ in str(theirs.type)


def test_standard_methods_are_registered() -> None:
    assert len(METHODS.keys() & types.METHOD_TO_TYPES.keys()) > 20


def test_the_capabilities_are_those_of_the_specification() -> None:
    offered = standard_capabilities(ClientFeatures(rename_notifications=True, notebooks=True))

    assert CONVERTER.unstructure(CONVERTER.structure(offered, types.ServerCapabilities)) == offered


PLACES = st.builds(types.Position, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
CHANGES = st.one_of(
    st.builds(types.TextDocumentContentChangePartial, st.builds(types.Range, PLACES, PLACES), st.text()),
    st.builds(types.TextDocumentContentChangeWholeDocument, st.text()),
)


@given(version=st.integers(-(2**31), 2**31 - 1), changes=st.lists(CHANGES))
def test_changes_are_read_as_they_were_sent(version: int, changes: list[Any]) -> None:
    document = types.VersionedTextDocumentIdentifier(version, "file:///a")
    sent = CONVERTER.unstructure(types.DidChangeTextDocumentParams(document, changes))

    read = structured("textDocument/didChange", sent, lsp.DidChangeTextDocumentParams)

    assert (read.text_document.version, read.text_document.uri) == (version, "file:///a")
    assert [each.text for each in read.content_changes] == [each.text for each in changes]
    for ours, theirs in zip(read.content_changes, changes, strict=True):
        place = getattr(theirs, "range", None)
        assert ours.range == (None if place is None else of_ours(place))


def of_ours(place: types.Range) -> lsp.Range:
    start, end = (Position(each.line, each.character) for each in (place.start, place.end))
    return lsp.Range(start=start, end=end)


def test_numbers_with_a_decimal_point_are_whole_ones_and_text_remains_text() -> None:
    context = {"triggerKind": 1.0}
    given_ = {"textDocument": {"uri": "a"}, "position": {"line": 1.0, "character": 2.0}, "context": context}

    read = structured("textDocument/inlineCompletion", given_, lsp.InlineCompletionParams)

    assert (read.position, read.context.trigger_kind) == (Position(1, 2), lsp.InlineCompletionTriggerKind.INVOKED)
    assert structured("$/cancelRequest", {"id": "5"}, lsp.CancelParams).id == "5"


def test_half_a_surrogate_pair_in_a_name_is_part_of_an_unknown_member() -> None:
    given_ = {"textDocument": {"uri": "a", "\ud800": 1}, "\udfff": {}}

    assert structured("textDocument/didSave", given_, lsp.DidSaveTextDocumentParams).text_document.uri == "a"


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"position": {"line": 1.5, "character": 0}}, r"Expected `int`, got `float` - at `\$.position.line`"),
        ({"position": {"line": -1, "character": 0}}, r"Expected `int` >= 0 - at `\$.position.line`"),
        ({"position": [1, 2]}, r"Expected `object`, got `array` - at `\$.position`"),
        ({"textDocument": {}}, r"missing required field `uri` - at `\$.textDocument`"),
        ({}, "missing required field `textDocument`"),
    ],
)
def test_what_does_not_fit_is_named_as_the_client_names_it(params: dict[str, Any], problem: str) -> None:
    whole = {"textDocument": {"uri": "a"}, "position": {"line": 1, "character": 2}, "context": {"triggerKind": 1}}
    with pytest.raises(InvalidParamsError, match=f"^invalid parameters of x: .*{problem}$"):
        structured("x", {**whole, **params} if params else {}, lsp.InlineCompletionParams)


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))
