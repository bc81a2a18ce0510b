"""Where two lists of lines differ."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.differences import Block, common_head, common_tail, differing_blocks

line_lists = st.lists(st.sampled_from(["a", "b", "c", "}", ""]), max_size=30)


@given(line_lists, line_lists)
def test_putting_the_new_lines_in_the_place_of_the_old_ones_gives_the_new_list(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    done = 0
    for block in differing_blocks(old, new):
        made += [*old[done : block.old_start], *new[block.new_start : block.new_end]]
        done = block.old_end
    assert made + old[done:] == new


@given(line_lists, line_lists)
def test_blocks_are_apart_in_order_and_hold_a_difference(old: list[str], new: list[str]) -> None:
    blocks = differing_blocks(old, new)
    for block in blocks:
        assert old[block.old_start : block.old_end] != new[block.new_start : block.new_end]
    for one, other in pairwise(blocks):
        assert one.old_end < other.old_start
        assert one.new_end < other.new_start


def test_a_function_that_is_put_between_two_others_is_one_block() -> None:
    old = ["def a():", "    pass", "", "def c():", "    pass"]
    new = ["def a():", "    pass", "", "def b():", "    pass", "", "def c():", "    pass"]
    assert differing_blocks(old, new) == [Block(3, 3, 3, 6)]


@given(line_lists, line_lists)
def test_the_common_head_and_tail_are_common_and_do_not_overlap(old: list[str], new: list[str]) -> None:
    head = common_head(old, new)
    tail = common_tail(old, new, head)
    assert old[:head] == new[:head]
    assert old[head : head + 1] != new[head : head + 1] or head == min(len(old), len(new))
    assert old[len(old) - tail :] == new[len(new) - tail :]
    assert head + tail <= min(len(old), len(new))
