"""What a person sees and presses, on a real terminal."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.terminal import terminal
from tests.model_server import Call, Step

BEFORE = "".join(f"line {number}\n" for number in range(1, 9))


def edited(old: str, new: str) -> Step:
    return Step(calls=(Call(name="edit_file", arguments={"path": "a.txt", "old": old, "new": new}),))


def test_a_change_is_asked_for_shown_taken_in_part_and_undone(folder: Path, home: Path) -> None:
    (folder / "a.txt").write_text(BEFORE)
    script = [edited("line 2", "second"), edited("line 7", "seventh"), Step(text="All is done now.")]
    with terminal(folder, home, script, "a.txt") as screen:
        screen.shows("line 8")
        screen.keys(":Pygent ask change it", "Enter")
        screen.shows("## You", "change it", "medium risk", "-line 2", "+second", "Always allow", "q hide")
        assert "No lines in buffer" not in screen.screen
        screen.keys("s")
        screen.shows("All is done now.", "second  1 of 2", "seventh  2 of 2", "360 tokens")
        screen.keys("gg]hgdrih")
        screen.shows("seventh  1 of 1")
        screen.shows_no("second")
        screen.keys("gdA")
        screen.shows_no("1 of 1")
        assert "\nseventh " in screen.screen
        screen.keys("u")
        screen.shows("\nsecond ")
        screen.keys("uu")
        screen.shows(*(f"\nline {number} " for number in range(2, 9)))


def test_on_a_small_terminal_with_two_windows_it_is_answered_too(folder: Path, home: Path) -> None:
    (folder / "a.txt").write_text(BEFORE)
    script = [edited("line 2", "second"), Step(text="Done.")]
    with terminal(folder, home, script, "-O", "a.txt", "b.txt", size=(40, 10)) as screen:
        screen.shows("line 1", "a.txt", "b.txt")
        screen.keys(":Pygent ask change it", "Enter")
        screen.shows("pygent asks · medium", "1 o Allow once", "3 a Always allow", "<CR> choose")
        screen.keys("q")
        screen.shows_no("Allow once")
        screen.resize(60, 20)
        screen.keys(":Pygent answer", "Enter")
        screen.shows("<CR> choose", "+second")
        screen.keys("o")
        screen.shows("┃ second", "Done.")
        assert (folder / "a.txt").read_text() == BEFORE
