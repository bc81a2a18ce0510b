"""Ranks definitions by who refers to them: PageRank over the files of a workspace.

A file passes its rank on to the files that define what it names, in proportion to how often it names that, and each
definition gets the share that its name carries. A name says little if many files define it, if it begins with an
underscore or is short, or is that of a member; it says more if the task is about it. A file refers only to files of its
own family of languages, and hardly to one that it does not import: `Literal` is Python's, whoever else defines one.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

DAMPING = 0.5
ROUNDS = 20
"""Number of rounds of the ranking, after which it changes by less than it matters for an order."""

KEPT = 5.0
"""Weight of what a file does not pass on: one that hardly refers to others makes nothing important."""

MAX_DEFINERS = 20
"""Maximum number of files that define a name; a name with more of them, such as `get`, tells nothing."""

FOCUS_SHARE = 0.5
"""Share of the rank that begins in the files of the focus."""

UNNAMED_SHARE = 1e-6
"""Share of its file's rank that a definition has which no other file names; those of the focus share all of it."""

FOCUS_NAME = 10.0
TELLING_NAME = 2.0
PRIVATE_NAME = 0.1
MEMBER = 0.1
"""Weight of a name that only members of classes and the like have: those of other objects often have the same name."""

TELLING_CHARS = 8

_SEVERAL_WORDS = re.compile(r"[^\W_]_[^\W_]|[a-z0-9][A-Z]")

UNLISTED = frozenset({"field", "enum value", "module"})
"""Kinds that are part of another definition, or only a name around others."""

FAMILIES = (
    frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}),
    frozenset({".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"}),
    frozenset({".java", ".kt", ".kts", ".scala", ".sc"}),
    frozenset({".py", ".pyi"}),
    frozenset({".rb", ".rake"}),
    frozenset({".sh", ".bash"}),
)
"""Suffixes of languages that refer to each other's definitions; any other suffix is a family of its own."""

FOLDER_MODULES = frozenset({"__init__", "index", "mod", "lib", "init"})
"""Names of files that are imported by the name of their folder."""

IMPLICIT = frozenset({".cs", ".swift", min(FAMILIES[4])})
"""Families in which a file need not import what it uses."""

BY_FOLDER = frozenset({".go", min(FAMILIES[2]), ".php"})
"""Families in which a folder is imported, or a file of it."""

BY_NAME = frozenset({min(FAMILIES[0]), min(FAMILIES[3])})
"""Families in which most names are imported one by one."""

BY_MODULE = 0.2
"""Weight of a reference in them to a name that is not imported itself, though its file is."""

UNIMPORTED = 0.01
"""Weight of a reference to a file that is not imported; a method may be called on what another file returned."""

Name = tuple[str, str]
"""Name in a family of languages."""


class Definition(NamedTuple):
    """Symbol, as far as it matters here."""

    name: str
    kind: str
    is_member: bool
    """Whether it is inside another symbol."""


def is_listed(kind: str, *, is_member: bool) -> bool:
    """Return whether a definition is worth a place in a ranking."""
    return kind not in UNLISTED and not (kind == "variable" and is_member)


@dataclass(frozen=True, slots=True)
class RankedFile:
    """File with its definitions that are listed, in order, and what it names how often."""

    path: str
    definitions: Sequence[Definition]
    references: Mapping[str, int]
    imports: Collection[str]
    """Words of its imports."""

    @property
    def module(self) -> str:
        """Name by which others import it."""
        path = PurePosixPath(self.path)
        name = path.name.partition(".")[0]
        return path.parent.name if name in FOLDER_MODULES else name

    @property
    def family(self) -> str:
        """Family of its language."""
        suffix = PurePosixPath(self.path).suffix
        return next((min(each) for each in FAMILIES if suffix in each), suffix)


def rank(
    sources: Sequence[RankedFile], limit: int, *, focus: Collection[str] = (), names: Collection[str] = ()
) -> list[tuple[int, int]]:
    """Return the most important definitions in order, each as the index of its source and its own in there.

    `focus` are paths, `names` are names that the ranking is about. The order depends on nothing else.
    """
    families = [each.family for each in sources]
    definers = _definers(sources, families)
    weights = _Weights(sources, families, definers, frozenset(names))
    edges = [weights.edges(index) for index in range(len(sources))]
    chosen = {index for index, each in enumerate(sources) if any(_is_at(each.path, place) for place in focus)}
    ranks = _page_rank(_start(len(sources), chosen), edges)
    scores: dict[tuple[int, str], float] = defaultdict(float)
    for index, out in enumerate(edges):
        total = sum(weight for _, _, weight in out) + KEPT
        for target, name, weight in out:
            scores[target, name] += ranks[index] * weight / total
    found = heapq.nsmallest(limit, _scored(sources, ranks, scores, chosen, frozenset(names)))
    return [(index, at) for _, _, at, index in found]


def _scored(
    sources: Sequence[RankedFile],
    ranks: Sequence[float],
    scores: Mapping[tuple[int, str], float],
    chosen: Collection[int],
    names: frozenset[str],
) -> Iterator[tuple[float, str, int, int]]:
    """Yield all definitions, with what orders them."""
    for index, source in enumerate(sources):
        counts = Counter(each.name for each in source.definitions)
        least = ranks[index] * (1 / (1 + len(source.definitions)) if index in chosen else UNNAMED_SHARE)
        for at, each in enumerate(source.definitions):
            score = scores.get((index, each.name), 0.0) / counts[each.name] + least
            asked = 1.0 if each.name in names else 0.0  # what was asked for comes first, referred to or not
            yield -score - asked, source.path, at, index


def _definers(sources: Sequence[RankedFile], families: Sequence[str]) -> Mapping[Name, _Definers]:
    """Return the files that define each name that any file refers to; those that only declare it count if no other
    does."""
    referred = {name for source in sources for name in source.references}
    proper: dict[Name, _Definers] = {}
    declared: dict[Name, _Definers] = {}
    for index, source in enumerate(sources):
        for each in source.definitions:
            if each.name in referred:
                found = declared if each.kind == "declaration" else proper
                own = found.setdefault((families[index], each.name), _Definers())
                own.files[index] = None
                own.are_members &= each.is_member
    return declared | proper


@dataclass(slots=True)
class _Definers:
    """Files that define a name, in order."""

    files: dict[int, None] = field(default_factory=dict[int, None])
    are_members: bool = True


class _Weights:
    """Weights of names."""

    def __init__(
        self,
        sources: Sequence[RankedFile],
        families: Sequence[str],
        definers: Mapping[Name, _Definers],
        names: frozenset[str],
    ) -> None:
        self._sources = sources
        self._families = families
        self._modules = [each.module for each in sources]
        self._folders = [each.path.rpartition("/")[0] for each in sources]
        self._targets = {name: tuple(each.files) for name, each in definers.items() if len(each.files) <= MAX_DEFINERS}
        self._weights = {
            name: _weight(name[1], names) * (MEMBER if definers[name].are_members else 1.0) for name in self._targets
        }

    def edges(self, index: int) -> Sequence[tuple[int, str, float]]:
        """Return the files that a file refers to, by which name, and how much."""
        targets, weights, family = self._targets, self._weights, self._families[index]
        imported: dict[int, bool] = {}
        found: list[tuple[int, str, float]] = []
        for name, count in self._sources[index].references.items():
            key = family, name
            meant = targets.get(key, ())
            if not meant or index in meant:  # it means its own
                continue
            for target in meant:
                if target not in imported:
                    imported[target] = self._imports(index, target)
            known = [target for target in meant if imported[target]]
            weight = weights[key] * math.sqrt(count) * self._evidence(index, name, is_imported=bool(known))
            found += [(target, name, weight / len(known or meant)) for target in known or meant]
        return found

    def _evidence(self, index: int, name: str, *, is_imported: bool) -> float:
        """Return how likely a name means what its definers define, who are imported or not."""
        if not is_imported:
            return UNIMPORTED
        return BY_MODULE if self._families[index] in BY_NAME and name not in self._sources[index].imports else 1.0

    def _imports(self, index: int, target: int) -> bool:
        """Whether a file imports another, as far as its words tell, or need not."""
        family, words, folder = self._families[index], self._sources[index].imports, self._folders[target]
        if family in IMPLICIT or self._modules[target] in words:
            return True
        return family in BY_FOLDER and (self._folders[index] == folder or folder.rpartition("/")[2] in words)


def _weight(name: str, names: frozenset[str]) -> float:
    weight = 1.0
    if name in names:
        weight *= FOCUS_NAME
    if len(name) >= TELLING_CHARS and _SEVERAL_WORDS.search(name):
        weight *= TELLING_NAME
    if name.startswith("_"):
        weight *= PRIVATE_NAME
    return weight


def _start(n_sources: int, chosen: Collection[int]) -> Sequence[float]:
    """Return the share of the rank that begins in each file."""
    share = FOCUS_SHARE if chosen else 0.0
    usual = (1 - share) / n_sources if n_sources else 0.0
    return [usual + (share / len(chosen) if index in chosen else 0.0) for index in range(n_sources)]


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _page_rank(start: Sequence[float], edges: Sequence[Sequence[tuple[int, str, float]]]) -> Sequence[float]:
    """Return each file's rank. What a file does not pass on begins anew."""
    out: list[list[tuple[int, float]]] = []
    for each in edges:
        summed: dict[int, float] = defaultdict(float)
        for target, _, weight in each:
            summed[target] += weight
        total = sum(summed.values()) + KEPT
        out.append([(target, DAMPING * weight / total) for target, weight in summed.items()])
    ranks = list(start)
    for _ in range(ROUNDS):
        given = [0.0] * len(start)
        for rank, targets in zip(ranks, out, strict=True):
            for target, share in targets:
                given[target] += rank * share
        left = 1.0 - sum(given)
        ranks = [each + left * share for each, share in zip(given, start, strict=True)]
    return ranks
