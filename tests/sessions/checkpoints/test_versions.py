"""Versions of one path and their authors: what a restore discards, and which versions end it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.sessions.checkpoints.versions import MACHINE, MACHINE_AND_PROGRAMS, Author, Versions, way_back
from pygent_ls.workspace.snapshots.path_state import NOTHING, Held
from pygent_ls.workspace.snapshots.store import TreeEntry


def held(text: str, mode: int | None = None) -> Held:
    return Held(TreeEntry("100644", text), mode)


@dataclass
class File:
    """A file that the agent, commands and the user write, and the checkpoints that can be gone back to."""

    now: Held = field(default_factory=lambda: held("first"))
    versions: Versions = field(default_factory=lambda: Versions.of(held("first")))
    moment: int = 0
    points: list[tuple[int, Held]] = field(default_factory=list[tuple[int, Held]])

    def write(self, text: Held, author: Author) -> None:
        """The user writes behind everybody's back, all others tell."""
        if author != "user":
            self.versions.changed(self.moment, self.now, text, author)
            self.moment += 1
        self.now = text

    def see(self) -> None:
        """Learn what stands there, as is done before a checkpoint."""
        if self.versions.top.held.is_like(self.now):
            return
        known = self.versions.find(self.now)
        if known is not None:
            self.versions.went_to(self.moment, known.number)
        else:
            self.versions.changed(self.moment, self.versions.top.held, self.now, "user")
        self.moment += 1

    def point(self) -> None:
        self.see()
        self.points.append((self.moment, self.now))

    def back(self, place: int, discardable: frozenset[Author] = MACHINE) -> None:
        self.see()
        moment, _ = self.points[place]
        goal = self.versions.at(moment)
        end = way_back(self.versions.top, goal, goal.held, discardable)
        self.versions.went_to(self.moment, end.number)
        self.moment += 1
        self.now = end.held


def test_a_second_way_back_leaves_what_the_user_wrote_between_two_turns() -> None:
    file = File()
    file.point()
    file.write(held("agent 1"), "agent")
    file.write(held("user"), "user")
    file.point()
    file.write(held("agent 2"), "agent")

    file.back(1)
    assert file.now == held("user")
    file.back(0)

    assert file.now == held("user")


def test_a_way_back_over_several_turns_stops_at_what_the_user_wrote_between_them() -> None:
    file = File()
    file.point()
    file.write(held("agent 1"), "agent")
    file.write(held("user"), "user")
    file.write(held("agent 2"), "agent")

    file.back(0)

    assert file.now == held("user")


def test_what_was_taken_back_comes_again_and_what_the_user_wrote_since_stays() -> None:
    file = File()
    file.point()
    file.write(held("agent"), "agent")
    file.point()
    file.back(0)
    assert file.now == held("first")

    file.back(1)
    assert file.now == held("agent")
    file.back(0)
    file.write(held("user"), "user")
    file.back(1)

    assert file.now == held("user")


def test_a_text_that_the_editors_own_undo_brought_back_is_whose_it_was() -> None:
    file = File()
    file.point()
    file.write(held("agent 1"), "agent")
    file.write(held("agent 2"), "agent")
    file.write(held("agent 1"), "user")

    file.back(0)

    assert file.now == held("first")


def test_a_change_that_may_be_anyones_goes_back_only_if_that_is_allowed() -> None:
    file = File()
    file.point()
    file.write(held("agent"), "agent")
    file.write(held("anyone"), "program")

    file.back(0)
    assert file.now == held("anyone")
    file.back(0, MACHINE_AND_PROGRAMS)

    assert file.now == held("first")


def test_a_way_back_ends_at_its_goal_though_the_file_held_the_same_on_the_way() -> None:
    file = File(NOTHING, Versions.of(NOTHING))
    file.point()
    for text in (held("agent"), NOTHING, held("agent again")):
        file.write(text, "agent")

    file.back(0)

    assert file.versions.top is file.versions.root


def test_permission_bits_alone_are_a_version_too() -> None:
    file = File()
    file.point()
    file.write(held("first", 0o600), "agent")

    file.back(0)

    assert file.now == held("first")


def test_an_edit_in_which_the_daemon_died_is_found_whether_it_was_made_or_not() -> None:
    for made in (True, False):
        versions = Versions.of(held("first"))
        versions.changed(0, held("first"), NOTHING, "agent", is_done=False)

        found = versions.find(NOTHING if made else held("first"))

        assert found is not None
        assert way_back(found, versions.at(0), held("first"), MACHINE).held == held("first")


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["agent", "program", "user"]), st.integers(0, 3)),
        st.just(("point", 0)),
        st.tuples(st.just("back"), st.integers(0, 5)),
    ),
    max_size=25,
)


@given(ACTIONS)
def test_going_back_replaces_no_text_of_the_user_but_by_one_that_was_made_from_it(
    actions: Sequence[tuple[str, int]],
) -> None:
    """Each text is written once and has one author; `made_from` says what stood there when it was written."""
    file = File()
    author: dict[Held, str] = {file.now: "user"}
    made_from: dict[Held, Held | None] = {file.now: None}
    file.point()
    touched_since = {0: False}
    for number, (kind, place) in enumerate(actions):
        before = file.now
        match kind:
            case "point":
                file.point()
                touched_since[len(file.points) - 1] = False
            case "back":
                chosen = place % len(file.points)
                file.back(chosen)
                line: list[Held] = []
                now: Held | None = file.now
                while now is not None:
                    line.append(now)
                    now = made_from[now]
                assert author[before] in ("agent",) or before in line
                if not touched_since[chosen]:
                    assert file.now == file.points[chosen][1]
            case writer:
                text = held(f"{writer} {number}")
                author[text], made_from[text] = writer, before
                file.write(text, writer)  # type: ignore[arg-type]
                if writer != "agent":
                    touched_since = dict.fromkeys(touched_since, True)
