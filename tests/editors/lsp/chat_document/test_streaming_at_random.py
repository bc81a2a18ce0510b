"""An answer streams into a document of an editor that does now this and now that, while its user types everywhere."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.chat_document.conversation import chat_in, is_answered, send
from tests.editors.lsp.editor import NO_ANSWER, Editor, Setup, connected
from tests.editors.lsp.editor_documents import document_changes, edited
from tests.fakes import Gate, Step, bounded, say

START = "# Scratch 😀\n\nsome notes\n\n## You\n\nWhy?\n"
WORDS = [f"word{number}{'.' if number % 7 else chr(10) * 2}" for number in range(24)]
ANSWER = " ".join(WORDS)
TYPED = re.compile("⟦[0-9]+⟧")

BAD = ("drop", "refuse", "silent", "stale")
MOST_BAD = 2
"""Edits in a row that are not made; at some time it is given up."""


class Fickle:
    """An editor and its user, who types marks that are found again."""

    def __init__(self, editor: Editor, uri: str, seed: int) -> None:
        self.is_whole = asyncio.Event()
        self.n_typed = 0
        self._editor = editor
        self._uri = uri
        self._chance = random.Random(seed)
        self._n_bad = 0

    @property
    def text(self) -> str:
        return self._editor.documents.text(self._uri)

    def types(self) -> None:
        """Put in a mark somewhere, told as the place or as the whole text."""
        self.n_typed += 1
        text, mark = self.text, f"⟦{self.n_typed}⟧"
        places = [at for at in range(len(text) + 1) if TYPED.sub("", text[:at] + "|" + text[at:]).count("⟦") == 0]
        at = self._chance.choice([0, len(text), self._chance.choice(places)])
        if self._chance.random() < 0.5 or not text[at:]:
            self._editor.documents.type_over(self._uri, text[:at] + mark + text[at:])
        else:
            self._editor.documents.insert(self._uri, text[at:], mark)

    def apply(self, params: Mapping[str, Any]) -> Any:
        """Do something with an edit."""
        documents = self._editor.documents
        self._n_bad += 1
        is_patient = self._n_bad <= MOST_BAD
        what = self._chance.choice([*(BAD if is_patient else ()), "make", "make", "late", "merge"])
        self._n_bad = self._n_bad if what in BAD else 0
        match what:
            case "make":
                result = self._chance.choice([documents.apply(params), None, NO_ANSWER])
            case "stale":
                self.types()
                result = self._chance.choice([documents.apply(params), {"applied": True}])
            case "merge":
                (change,) = document_changes(params["edit"])
                mark = f"⟦{self.n_typed + 1}⟧"
                self.n_typed += 1
                documents.type_over(self._uri, mark + edited(self.text, change["edits"], "utf-16"))
                result = {"applied": True}
            case "late":
                asyncio.get_running_loop().call_later(0.02, self._make, params)
                result = {"applied": True}
            case _:
                result = {"drop": {"applied": True}, "refuse": {"applied": False}, "silent": NO_ANSWER}[what]
        self._look()
        return result

    def _make(self, params: Mapping[str, Any]) -> None:
        self._editor.documents.apply(params)
        self._look()

    def _look(self) -> None:
        if is_answered(TYPED.sub("", self.text), 1):
            self.is_whole.set()


@pytest.mark.parametrize("seed", range(4))
async def test_all_of_the_answer_stands_there_once_and_all_that_was_typed(folder: Path, seed: int) -> None:
    gates = [Gate() for _ in range(4)]
    pieces: list[Step] = []
    for number, gate in enumerate(gates):
        words = ANSWER[len(ANSWER) * number // 4 : len(ANSWER) * (number + 1) // 4]
        pieces += [TextChunk(text=words), gate]
    async with connected(folder, Setup(script=[[*pieces, *say()]])) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.06, proof_s=0.06)
        uri = editor.documents.open(chat_in(folder, START))
        fickle = Fickle(editor, uri, seed)
        editor.handlers["workspace/applyEdit"] = fickle.apply
        await send(editor, uri)
        for number, gate in enumerate(gates, start=1):
            await gate.reached()
            await editor.asks("workspace/applyEdit", number)
            fickle.types()
            gate.open()
        await bounded(fickle.is_whole.wait())

        assert TYPED.sub("", fickle.text) == f"{START}\n## pygent\n\n{ANSWER.rstrip()}\n\n## You\n\n"
        assert sorted(TYPED.findall(fickle.text)) == sorted(f"⟦{number}⟧" for number in range(1, fickle.n_typed + 1))
