"""What is installed, and what is replaced in it, is listed with its reasons."""

from __future__ import annotations

import re
from importlib.metadata import distribution

from pygls.protocol import LanguageServerProtocol

from benchmarks.installed_size import NAME, required_by, size_mb
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from tests.house.test_invariants import ROOT, package

LARGE_MB = 5.0


def listed_in(page: str) -> set[str]:
    """The names in the first column of the tables of a decision."""
    text = (ROOT / "docs/decisions" / page).read_text(encoding="utf-8")
    return {name for cell in re.findall(r"^\| ([^|]+) \|", text, re.M) for name in cell.replace("`", "").split(", ")}


def test_each_large_distribution_is_listed_with_what_needs_it() -> None:
    large = {name for name in required_by(NAME) if size_mb(distribution(name)) > LARGE_MB}

    assert large - listed_in("077-installed-size.md") == set()


def test_each_part_of_pygls_that_is_replaced_or_private_is_listed() -> None:
    theirs = set(dir(LanguageServerProtocol)) | {"_request_futures", "_converter"}
    ours = [each for each in RpcEndpoint.__mro__ if each.__module__.startswith("pygent_ls")]
    overridden = {name for each in ours for name in vars(each) if name in theirs and not name.startswith("__")}
    folder = "editors/lsp/rpc/"
    code = "".join((ROOT / "pygent_ls" / each.path).read_text(encoding="utf-8") for each in package(folder))
    used = theirs.intersection(re.findall(r"\b(?:self|super\(\))\.(_[a-z]\w*)", code))

    assert (overridden | used) - listed_in("076-pygls.md") == set()
    assert {"_handle_request", "_request_futures"} <= overridden | used, "the check sees nothing"
