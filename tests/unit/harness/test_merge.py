"""How the shards of a checkpoint become one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from determined.core import _merge

Paths = st.sampled_from(["a", "b", "d/", "d/a", "d/b", "e/"])
Listings = st.lists(st.dictionaries(Paths, st.just(1)), min_size=1, max_size=4)


@given(Listings)
def test_every_path_is_stored_by_the_lowest_rank_that_has_it(listings: list[dict[str, int]]) -> None:
    owners = _merge.owners(listings)
    assert set(owners) == set().union(*listings)
    for path, owner in owners.items():
        assert path in listings[owner]
        assert not any(path in listing for listing in listings[:owner])


def test_equal_files_count_once_and_different_ones_conflict() -> None:
    listings = [{"same": 1, "other": 1, "mine": 1}, {"same": 1, "other": 1}]
    assert _merge.contested(listings) == {"same", "other"}
    digests = [{"same": "x", "other": "x"}, {"same": "x", "other": "y"}]
    assert _merge.file_conflicts(listings, digests) == {"other": [0, 1]}


def test_a_file_where_another_rank_has_a_folder_conflicts() -> None:
    assert _merge.file_conflicts([{"d": 1}, {"d/": 0, "d/a": 1}], [{}, {}]) == {"d": [0, 1]}


def test_folders_of_one_name_are_one_folder() -> None:
    assert _merge.file_conflicts([{"d/": 0, "d/a": 1}, {"d/": 0, "d/b": 1}], [{}, {}]) == {}


def test_metadata_is_merged_key_by_key() -> None:
    merged, conflicts = _merge.merge_metadata([{"a": 1, "d": {"x": 1}}, {"a": 1, "d": {"y": [1]}}, {"c": None}])
    assert merged == {"a": 1, "d": {"x": 1, "y": [1]}, "c": None}
    assert conflicts == {}


def test_conflicting_metadata_is_told_by_its_path() -> None:
    _, conflicts = _merge.merge_metadata([{"d": {"b": 1}, "l": [1]}, {"d": {"b": 2}, "l": [2]}, {"d": {"b": 1}}])
    assert conflicts == {"/d/b": [0, 1], "/l": [0, 1]}
    assert "/d/b: ranks 0, 1" in _merge.explain("metadata", conflicts)


Metadata = st.recursive(st.integers(0, 2), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=6)


@given(st.dictionaries(st.sampled_from("abc"), Metadata), st.integers(1, 4))
def test_ranks_that_say_the_same_agree(metadata: dict[str, Any], ranks: int) -> None:
    assert _merge.merge_metadata([metadata] * ranks) == (metadata, {})


def test_picking_a_file_brings_the_folders_above_it() -> None:
    assert _merge.with_parents({"a/b/c"}) == {"a/", "a/b/", "a/b/c"}


def test_machines_that_see_different_files_do_not_share_a_folder() -> None:
    assert _merge.unseen({0: {"a": 1, "b": 2}, 2: {"a": 1, "b": 2}}) == {}
    assert _merge.unseen({0: {"a": 1}, 2: {"b": 2}}) == {0: ["b"], 2: ["a"]}
    half_written = _merge.unseen({0: {"a": 7}, 2: {"a": 9}})
    assert half_written == {0: ["a"]}
    assert "rank 0 does not see a" in _merge.explain_unseen(half_written)
    many = {1: [str(number) for number in range(9)]}
    assert _merge.explain_unseen(many).endswith("rank 1 does not see 0, 1, 2 …")
