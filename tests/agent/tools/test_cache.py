"""The cache of reading tools' results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pygent_ls.agent.rules import globs
from pygent_ls.agent.tools.cache import CachedResult, ToolCache
from tests.fakes import FakeClock


def result(
    content: str = "x", *, files: Mapping[str, str] | None = None, trees: Mapping[str, str] | None = None
) -> CachedResult:
    return CachedResult(
        content=content,
        dependencies={Path(path): stamp for path, stamp in (files or {}).items()},
        trees={Path(path): stamp for path, stamp in (trees or {}).items()},
        shown=(),
    )


def new_cache(max_entries: int = 3) -> tuple[ToolCache, FakeClock]:
    clock = FakeClock()
    return ToolCache(max_entries=max_entries, clock=clock), clock


def keep(cache: ToolCache, name: str, kept: CachedResult | None = None) -> None:
    cache.set("read_file", {"path": name}, kept or result(name, files={f"/w/{name}": "1"}), ttl_s=30)


def has(cache: ToolCache, name: str) -> bool:
    return cache.get("read_file", {"path": name}) is not None


def test_what_was_set_is_got_under_its_tool_and_arguments_alone() -> None:
    cache, _ = new_cache()
    cache.set("read_file", {"path": "a"}, result("text of a"), ttl_s=30)
    found = cache.get("read_file", {"path": "a"})
    assert found is not None
    assert found.content == "text of a"
    assert cache.get("read_file", {"path": "b"}) is None
    assert cache.get("list_files", {"path": "a"}) is None
    assert cache.get("read_file", {}) is None


def test_the_order_of_arguments_does_not_matter_but_their_types_do() -> None:
    cache, _ = new_cache()
    cache.set("t", {"a": 1, "b": {"c": [1, 2], "d": None}}, result(), ttl_s=30)
    assert cache.get("t", {"b": {"d": None, "c": [1, 2]}, "a": 1}) is not None
    for other in ({"a": "1"}, {"a": True}, {"a": 1.0}):
        assert cache.get("t", {"b": {"c": [1, 2], "d": None}, **other}) is None


def test_a_result_expires_at_its_own_time() -> None:
    cache, clock = new_cache()
    cache.set("short", {}, result(), ttl_s=5)
    cache.set("long", {}, result(), ttl_s=60)
    clock.advance(4.9)
    assert cache.get("short", {}) is not None
    clock.advance(0.1)
    assert cache.get("short", {}) is None
    assert cache.get("long", {}) is not None
    assert len(cache) == 1


def test_setting_again_starts_its_time_again() -> None:
    cache, clock = new_cache()
    cache.set("t", {}, result("old"), ttl_s=5)
    clock.advance(4)
    cache.set("t", {}, result("new"), ttl_s=5)
    clock.advance(4)
    found = cache.get("t", {})
    assert found is not None
    assert found.content == "new"


def test_cleaning_up_drops_what_has_expired_and_counts_it() -> None:
    cache, clock = new_cache()
    cache.set("a", {}, result(), ttl_s=5)
    cache.set("b", {}, result(), ttl_s=5)
    cache.set("c", {}, result(), ttl_s=60)
    clock.advance(5)
    assert cache.cleanup_expired() == 2
    assert cache.cleanup_expired() == 0
    assert len(cache) == 1


def test_the_least_recently_used_goes_first() -> None:
    cache, _ = new_cache(max_entries=3)
    for name in ("a", "b", "c"):
        keep(cache, name)
    assert has(cache, "a")
    keep(cache, "d")
    assert [name for name in "abcd" if has(cache, name)] == ["a", "c", "d"]
    keep(cache, "c")
    keep(cache, "e")
    assert [name for name in "acde" if has(cache, name)] == ["c", "d", "e"]


def test_a_cache_of_no_entries_keeps_nothing() -> None:
    cache, _ = new_cache(max_entries=0)
    keep(cache, "a")
    assert len(cache) == 0


def test_one_result_one_tool_or_all_can_be_dropped() -> None:
    cache, _ = new_cache(max_entries=10)
    keep(cache, "a")
    keep(cache, "b")
    cache.set("git_status", {}, result(), ttl_s=30)
    cache.drop("read_file", {"path": "a"})
    cache.drop("read_file", {"path": "never there"})
    assert not has(cache, "a")
    assert cache.invalidate_tool("git_status") == 1
    assert cache.invalidate_tool("git_status") == 0
    assert has(cache, "b")
    cache.clear()
    assert len(cache) == 0


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("/w/src/a.py", {"a.py", "src", "w"}),
        ("/w/src/new.py", {"src", "w"}),
        ("/w/src/lib/deep.py", {"src", "lib", "w"}),
        ("/w/src/lib", {"src", "lib", "w"}),
        ("/w/src", {"a.py", "src", "lib", "w"}),
        ("/w/docs/b.md", {"b.md", "docs", "w"}),
        ("/elsewhere", set[str]()),
        ("/w/src/a.py2", {"src", "w"}),
    ],
)
def test_a_changed_path_drops_what_read_it_what_lies_below_it_and_the_folders_above_it(
    changed: str, stale: set[str]
) -> None:
    cache, _ = new_cache(max_entries=10)
    keep(cache, "a.py", result(files={"/w/src/a.py": "1"}))
    keep(cache, "b.md", result(files={"/w/docs/b.md": "1"}))
    keep(cache, "src", result(trees={"/w/src": "1"}))
    keep(cache, "lib", result(trees={"/w/src/lib": "1"}))
    keep(cache, "docs", result(trees={"/w/docs": "1"}))
    keep(cache, "w", result(trees={"/w": "1"}))

    n_dropped = cache.invalidate(globs.escape(changed))

    assert {name for name in ("a.py", "b.md", "src", "lib", "docs", "w") if not has(cache, name)} == stale
    assert n_dropped == len(stale)


@pytest.mark.parametrize(
    ("pattern", "stale"),
    [
        ("**", {"a.py", "b.md", "src", "docs"}),
        ("**/*.py", {"a.py", "src", "docs"}),
        ("/w/**/*.py", {"a.py", "src", "docs"}),
        ("/w/src/**", {"a.py", "src"}),
        ("/w/src/*.py", {"a.py", "src"}),
        ("/w/s*", {"a.py", "src"}),
        ("/w/docs/*.py", {"docs"}),
        ("/x/**", set[str]()),
    ],
)
def test_a_pattern_drops_the_files_that_match_and_every_tree_that_may_hold_one(pattern: str, stale: set[str]) -> None:
    cache, _ = new_cache(max_entries=10)
    keep(cache, "a.py", result(files={"/w/src/a.py": "1"}))
    keep(cache, "b.md", result(files={"/w/docs/b.md": "1"}))
    keep(cache, "src", result(trees={"/w/src": "1"}))
    keep(cache, "docs", result(trees={"/w/docs": "1"}))

    cache.invalidate(pattern)

    dropped = {name for name in ("a.py", "b.md", "src", "docs") if not has(cache, name)}
    assert dropped >= stale
    assert dropped - {"src", "docs"} == stale - {"src", "docs"}


def test_a_result_that_does_not_say_what_it_read_goes_with_any_change() -> None:
    cache, _ = new_cache()
    cache.set("git_status", {}, result("clean"), ttl_s=5)
    assert cache.invalidate(globs.escape("/w/a.py")) == 1
    assert cache.get("git_status", {}) is None


paths = st.lists(st.sampled_from(["a", "b", "*", "[x]", "ab"]), min_size=1, max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)


@given(paths, paths, st.booleans())
def test_after_a_change_nothing_is_served_that_could_have_seen_it(changed: str, read: str, is_tree: bool) -> None:
    cache, _ = new_cache()
    cache.set("t", {}, result(trees={read: "1"}) if is_tree else result(files={read: "1"}), ttl_s=30)
    cache.invalidate(globs.escape(changed))
    at, place = Path(changed), Path(read)
    touched = at == place or at in place.parents or (is_tree and place in at.parents)
    if touched:
        assert cache.get("t", {}) is None
    elif place not in at.parents:
        assert cache.get("t", {}) is not None


class CacheMachine(RuleBasedStateMachine):
    """The cache beside a model of it that is too simple to be wrong."""

    MAX_ENTRIES = 3

    def __init__(self) -> None:
        super().__init__()
        self.cache, self.clock = new_cache(self.MAX_ENTRIES)
        self.kept: list[tuple[str, str, float]] = []
        """Key, content, end; the least recently used first."""

    def _forget(self, gone: Callable[[str], bool]) -> None:
        self.kept = [each for each in self.kept if not gone(each[0])]

    def _expire(self) -> None:
        self.kept = [each for each in self.kept if each[2] > self.clock.now_s]

    @rule(key=st.sampled_from("abcde"), content=st.text(max_size=3), ttl_s=st.integers(1, 20))
    def set(self, key: str, content: str, ttl_s: int) -> None:
        self.cache.set("t", {"key": key}, result(content, files={f"/w/{key}": "1"}), ttl_s=ttl_s)
        self._forget(lambda each: each == key)
        self.kept.append((key, content, self.clock.now_s + ttl_s))
        self.kept = self.kept[-self.MAX_ENTRIES :]

    @rule(key=st.sampled_from("abcde"))
    def get(self, key: str) -> None:
        found = self.cache.get("t", {"key": key})
        expected = next((each for each in self.kept if each[0] == key and each[2] > self.clock.now_s), None)
        assert (found and found.content) == (expected and expected[1])
        self._forget(lambda each: each == key)
        if expected:
            self.kept.append(expected)

    @rule(seconds=st.integers(1, 10))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def clean_up(self) -> None:
        before = len(self.kept)
        self._expire()
        assert self.cache.cleanup_expired() == before - len(self.kept)

    @rule(key=st.sampled_from("abcde"))
    def invalidate(self, key: str) -> None:
        before = len(self.kept)
        self._forget(lambda each: each == key)
        assert self.cache.invalidate(f"/w/{key}") == before - len(self.kept)

    @invariant()
    def holds_no_more_than_it_may(self) -> None:
        assert len(self.cache) == len(self.kept) <= self.MAX_ENTRIES


CacheMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=30)
TestCacheAgainstItsModel: Any = CacheMachine.TestCase
