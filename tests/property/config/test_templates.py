"""A submission that is built on a template: what it says itself, it keeps; the template fills the rest."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from resolute.config import ClusterDefaults, Stated, parse_experiment

SMALLEST = {"entrypoint": "python3 train.py", "searcher": {"name": "single", "metric": "loss", "max_length": 10}}
STORAGE = {"type": "shared_fs", "host_path": "/shared"}

names = st.sampled_from(["A", "B", "C"])
variables = st.lists(st.builds("{}={}".format, names, st.integers(0, 9)), max_size=4)
mounts = st.lists(
    st.builds(lambda name, path: {"host_path": f"/{path}", "container_path": f"/{name}"}, names, names),
    max_size=3,
    unique_by=lambda mount: mount["container_path"],
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "max_restarts": st.none() | st.integers(0, 9),
        "debug": st.none() | st.booleans(),
        "labels": st.lists(names, max_size=3),
        "environment": st.fixed_dictionaries(
            {},
            optional={"environment_variables": variables, "add_capabilities": st.none() | st.lists(names, max_size=2)},
        ),
        "bind_mounts": mounts,
        "hyperparameters": st.dictionaries(
            names, st.integers(0, 9) | st.just({"type": "double", "minval": 0, "maxval": 1}), max_size=3
        ),
    },
)


def built(submitted: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    defaults = ClusterDefaults(checkpoint_storage=STORAGE, template=template, created_at_s=1, name="n")
    return parse_experiment({**SMALLEST, **submitted}, defaults).merged


@given(parts, parts)
def test_a_single_value_and_a_plain_list_are_the_submissions_and_only_what_is_absent_is_filled(
    submitted: dict[str, Any], template: dict[str, Any]
) -> None:
    merged, alone = built(submitted, template), built(submitted, {})
    filled = built({}, template)
    for path in (("max_restarts",), ("debug",), ("environment", "add_capabilities")):
        own = Stated(submitted).at(*path)
        assert Stated(merged).at(*path) == Stated(filled if own is None else alone).at(*path)


@given(parts, parts)
def test_labels_add_up_and_variables_of_the_submission_come_last(
    submitted: dict[str, Any], template: dict[str, Any]
) -> None:
    merged = built(submitted, template)
    assert merged["labels"] == sorted({*submitted.get("labels", ()), *template.get("labels", ())})
    path = ("environment", "environment_variables")
    wanted = [*(Stated(template).at(*path) or []), *(Stated(submitted).at(*path) or [])]
    assert merged["environment"]["environment_variables"]["cpu"] == wanted


@given(parts, parts)
def test_mounts_add_up_by_their_place_in_the_container_and_the_submissions_win(
    submitted: dict[str, Any], template: dict[str, Any]
) -> None:
    own, others = submitted.get("bind_mounts", []), template.get("bind_mounts", [])
    taken = {mount["container_path"] for mount in own}
    expected = [*own, *(mount for mount in others if mount["container_path"] not in taken)]
    found = [(mount["host_path"], mount["container_path"]) for mount in built(submitted, template)["bind_mounts"]]
    assert found == [(mount["host_path"], mount["container_path"]) for mount in expected]


@given(parts, parts)
def test_a_hyperparameter_is_the_submissions_or_the_templates_and_never_a_mixture(
    submitted: dict[str, Any], template: dict[str, Any]
) -> None:
    own, others = submitted.get("hyperparameters", {}), template.get("hyperparameters", {})
    merged = built(submitted, template)["hyperparameters"]
    assert merged == built({"hyperparameters": {**others, **own}}, {})["hyperparameters"]


@given(parts)
def test_a_template_of_nothing_and_a_template_of_the_same_single_values_change_nothing(
    submitted: dict[str, Any],
) -> None:
    assert built(submitted, {}) == built({**submitted}, {"max_restarts": submitted.get("max_restarts")})
