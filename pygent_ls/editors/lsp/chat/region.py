"""The stretch of a document that the daemon writes, while its user changes the rest. Pure."""

from __future__ import annotations

from pygent_ls.agent.differences import common_head
from pygent_ls.editors.lsp.chat.document import Said, lead_in, lead_out, line_ending, read_document
from pygent_ls.editors.lsp.chat.tracking import Edit, moved, with_line_feeds


class Region:
    """Grows at its end. What the user types at its end stands below it, whatever comes."""

    def __init__(self, prompt: str, text: str, *, stands_there: bool) -> None:
        """Of the answer to a prompt, at the end of this text. `stands_there`: the prompt is the last question there."""
        self.prompt = prompt
        self._stands_there = stands_there
        self._start_at_end_of(text)

    def _start_at_end_of(self, text: str) -> None:
        self.text = text
        """The whole document."""
        self.start = self.end = len(text)
        self.written = ""
        """What stands there, with line feeds, but for what the user changed in it."""
        self._lead = lead_in(text, self.prompt, stands_there=self._stands_there)
        document = read_document(text)
        self.history: list[Said] = document.history if self._stands_there else document.conversation
        """What is said above the question."""

    def follow(self, text: str) -> None:
        """The user changed the document, which is this now."""
        if text != self.text:
            end = moved(self.text, text, self.end)
            self.start = min(moved(self.text, text, self.start, behind=True), end)
            self.end, self.text = end, text

    def take_up(self, text: str) -> None:
        """The document was closed, or is open again, and is this: it may lack what was written last, or more."""
        self.follow(text)
        there = with_line_feeds(text[self.start : self.end])
        if self.written.startswith(there):
            self.written = there
            if not there and not self._is_asked_in(text):
                self._start_at_end_of(text)

    def wanted(self, answer: str) -> str:
        """All that is to stand there, with that answer, as far as it is known."""
        return self._lead + answer

    def wanted_at_last(self, answer: str) -> str:
        """The same when the answer is over: with the heading for the next question."""
        body = self._lead + answer
        above = with_line_feeds(self.text[max(0, self.start - 4) : self.start]) + body
        return body + lead_out(above, self.text[self.end :])

    def edit_to(self, wanted: str) -> Edit | None:
        """What is to be changed in the document for that to stand there; None where it does. Nothing is taken away that
        the user has changed."""
        if wanted == self.written:
            return None
        same = common_head(self.written, wanted)
        withdrawn, new = (self._as_here(each[same:]) for each in (self.written, wanted))
        start = self.end - len(withdrawn)
        is_untouched = start >= self.start and self.text[start : self.end] == withdrawn
        return Edit(start if is_untouched else self.end, self.end, new)

    def made(self, text: str, end: int, written: str) -> None:
        """An edit was made: the document is this, the region ends there, and that stands in it."""
        end_before = self.end
        self.start = min(moved(self.text, text, self.start, behind=self.start < end_before), end)
        self.text, self.end, self.written = text, end, written

    def _is_asked_in(self, text: str) -> bool:
        asking = read_document(text[: self.start]).asking
        return self._stands_there and asking is not None and self.prompt in asking.said

    def _as_here(self, text: str) -> str:
        return text.replace("\n", "\r\n") if line_ending(self.text) == "\r\n" else text
