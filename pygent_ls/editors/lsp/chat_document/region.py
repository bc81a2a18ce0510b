"""The range of a document that the daemon writes while the user edits the rest. Pure."""

from __future__ import annotations

from pygent_ls.agent.edits.differences import common_head
from pygent_ls.editors.lsp.chat_document.document import ChatMessage, lead_in, lead_out, line_ending, read_document
from pygent_ls.editors.lsp.chat_document.offsets import OffsetEdit, moved, with_line_feeds


class Region:
    """The range of one answer. It grows at its end; text that the user types at its end stays below it."""

    def __init__(self, prompt: str, text: str, *, stands_there: bool) -> None:
        """Start a region for the answer to a prompt at the end of the text. `stands_there`: the prompt is the last
        question there."""
        self.prompt = prompt
        self._stands_there = stands_there
        self._start_at_end_of(text)

    def _start_at_end_of(self, text: str) -> None:
        self.text = text
        """Text of the whole document."""
        self.start = self.end = len(text)
        self.written = ""
        """Text that the daemon wrote to the region, with line feeds, without changes of the user."""
        self._lead = lead_in(text, self.prompt, stands_there=self._stands_there)
        document = read_document(text)
        self.history: list[ChatMessage] = document.history if self._stands_there else document.conversation
        """The conversation above the question."""

    def follow(self, text: str) -> None:
        """Update after a change of the document by the user."""
        if text != self.text:
            end = moved(self.text, text, self.end)
            self.start = min(moved(self.text, text, self.start, behind=True), end)
            self.end, self.text = end, text

    def take_up(self, text: str) -> None:
        """Update after the document was closed or opened again, when text that was written last may be missing or
        added."""
        self.follow(text)
        there = with_line_feeds(text[self.start : self.end])
        if self.written.startswith(there):
            self.written = there
            if not there and not self._is_asked_in(text):
                self._start_at_end_of(text)

    def wanted(self, answer: str) -> str:
        """Return the text of the region for the answer so far."""
        return self._lead + answer

    def wanted_at_last(self, answer: str) -> str:
        """Return the text of the region for a finished answer, with the heading for the next question."""
        body = self._lead + answer
        above = with_line_feeds(self.text[max(0, self.start - 4) : self.start]) + body
        return body + lead_out(above, self.text[self.end :])

    def edit_to(self, wanted: str) -> OffsetEdit | None:
        """Return the edit that sets the text of the region; None if it is already there. Does not delete text that the
        user has changed."""
        if wanted == self.written:
            return None
        same = common_head(self.written, wanted)
        withdrawn, new = (self._as_here(each[same:]) for each in (self.written, wanted))
        start = self.end - len(withdrawn)
        is_untouched = start >= self.start and self.text[start : self.end] == withdrawn
        return OffsetEdit(start if is_untouched else self.end, self.end, new)

    def made(self, text: str, end: int, written: str) -> None:
        """Update after an edit was applied: the new text, the end of the region, and the text in it."""
        end_before = self.end
        self.start = min(moved(self.text, text, self.start, behind=self.start < end_before), end)
        self.text, self.end, self.written = text, end, written

    def _is_asked_in(self, text: str) -> bool:
        asking = read_document(text[: self.start]).asking
        return self._stands_there and asking is not None and self.prompt in asking.said

    def _as_here(self, text: str) -> str:
        return text.replace("\n", "\r\n") if line_ending(self.text) == "\r\n" else text
