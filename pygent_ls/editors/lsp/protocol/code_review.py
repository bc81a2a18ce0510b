"""`pygent/codeReview/…`: the findings of code reviews, and results of the commands on them."""

from typing import Literal, NotRequired, TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params, RangeOut


class FindingsParams(Params, frozen=True, kw_only=True):
    """`pygent/codeReview/list`: without `sessionId`, the findings of all sessions."""

    session_id: str | None = None


class FindingOut(TypedDict):
    """One finding. `range` is where its lines are now; if `isChanged` is true, their text is another than during the
    review. `hasSuggestion` is true as long as `pygent.applySuggestion` can replace the lines. `priority` is 0 for the
    most urgent findings and 3 for the least."""

    findingId: str
    sessionId: str
    uri: str
    range: RangeOut
    title: str
    body: str
    priority: Literal[0, 1, 2, 3]
    confidence: NotRequired[float]
    isChanged: bool
    hasSuggestion: bool


class FindingsOut(TypedDict):
    """The result of `pygent/codeReview/list`, and the notification `pygent/codeReview/didChange`, which has all
    findings. It follows after findings were reported, moved, settled or dismissed."""

    findings: list[FindingOut]


class FindingsLeftOut(TypedDict):
    """The result of `pygent.dismissFinding`, `pygent.dismissFindings` and `pygent.applySuggestion`: how many findings
    are left in all files."""

    left: int
