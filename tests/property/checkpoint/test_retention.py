"""Retention keeps what it promises, and nothing else, whatever an experiment left behind."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from resolute.checkpoint.retention import Candidate, Policy, kept


@st.composite
def experiments(draw: st.DrawFn) -> list[Candidate]:
    """Trials of any shape, checkpoints in any order, some validated, some NaN, some tied."""
    metrics = st.one_of(st.none(), st.integers(0, 3).map(float))
    rows = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5), st.booleans(), metrics), max_size=12))
    return [
        Candidate(f"c{i}", trial, steps, i, validated, metric if validated else None)
        for i, (trial, steps, validated, metric) in enumerate(rows)
    ]


counts = st.integers(0, 3)
policies = st.builds(Policy, counts, counts, counts, st.booleans())


@given(experiments(), policies)
def test_each_trial_keeps_its_latest_and_no_more_than_the_counts_allow(
    candidates: list[Candidate], policy: Policy
) -> None:
    chosen = kept(candidates, policy)
    for trial in {candidate.trial_id for candidate in candidates}:
        own = [candidate for candidate in candidates if candidate.trial_id == trial]
        own.sort(key=lambda candidate: (candidate.steps_completed, candidate.order))
        latest = own[len(own) - min(policy.save_trial_latest, len(own)) :]
        assert {candidate.uuid for candidate in latest} <= chosen
    trials = len({candidate.trial_id for candidate in candidates})
    most = policy.save_experiment_best + trials * (policy.save_trial_best + policy.save_trial_latest)
    assert len(chosen) <= most


@given(experiments(), policies)
def test_no_kept_best_is_worse_than_one_let_go(candidates: list[Candidate], policy: Policy) -> None:
    best_only = Policy(policy.save_experiment_best, 0, 0, policy.smaller_is_better)
    chosen = kept(candidates, best_only)
    assert len(chosen) == min(policy.save_experiment_best, sum(candidate.validated for candidate in candidates))
    worth = {candidate.uuid: _worth(candidate, policy) for candidate in candidates if candidate.validated}
    assert set(worth) >= chosen
    assert all(worth[inside] >= worth[outside] for inside in chosen for outside in set(worth) - chosen)


def _worth(candidate: Candidate, policy: Policy) -> tuple[bool, float]:
    if candidate.metric is None:
        return (False, 0.0)
    return (True, -candidate.metric if policy.smaller_is_better else candidate.metric)


@given(experiments(), policies, st.randoms())
def test_the_choice_does_not_hang_on_the_order_of_the_list(
    candidates: list[Candidate], policy: Policy, random: object
) -> None:
    shuffled = list(candidates)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert kept(shuffled, policy) == kept(candidates, policy)


@given(experiments(), policies)
def test_applying_the_policy_to_what_it_kept_keeps_all_of_it(candidates: list[Candidate], policy: Policy) -> None:
    chosen = kept(candidates, policy)
    assert kept([candidate for candidate in candidates if candidate.uuid in chosen], policy) == chosen


@given(experiments(), policies)
def test_a_more_generous_policy_keeps_no_less(candidates: list[Candidate], policy: Policy) -> None:
    generous = Policy(
        policy.save_experiment_best + 1, policy.save_trial_best + 1, policy.save_trial_latest + 1,
        policy.smaller_is_better,
    )  # fmt: skip
    assert kept(candidates, policy) <= kept(candidates, generous)


@given(experiments())
def test_a_policy_of_nothing_keeps_nothing(candidates: list[Candidate]) -> None:
    assert kept(candidates, Policy(0, 0, 0)) == frozenset()
