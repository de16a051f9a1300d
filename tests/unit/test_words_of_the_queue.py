"""Why something waits and what a job may set is defined once: whoever decides, refuses or explains says the same."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.api.queue.advice import advice
from resolute.api.queue.changes import checked_priority, checked_weight
from resolute.config.pools import Scheduler
from resolute.eventlog.waiting import RULES_OF_OTHERS
from resolute.proto.errors import InvalidConfig
from resolute.proto.queue import (
    PRIORITY_FIRST,
    PRIORITY_LAST,
    RULES_OF_THE_FIRST,
    WANTED,
    WEIGHT_MOST,
    JobSetting,
    PolicyName,
    WaitRule,
    may_be,
)
from resolute.scheduling import moves
from resolute.search.settings import check_edits

WRONG = [
    *[(JobSetting.PRIORITY, value) for value in (PRIORITY_FIRST - 1, PRIORITY_LAST + 1, True, 1.0, "1", None)],
    *[(JobSetting.WEIGHT, value) for value in (0, -1, WEIGHT_MOST + 1, float("nan"), float("inf"), True, "1")],
    *[(JobSetting.MAX_SLOTS, value) for value in (-1, 2**31, 1.5, True, "1")],
]
RIGHT = [
    *[(JobSetting.PRIORITY, value) for value in (PRIORITY_FIRST, PRIORITY_LAST)],
    *[(JobSetting.WEIGHT, value) for value in (0.001, 1, WEIGHT_MOST)],
    *[(JobSetting.MAX_SLOTS, value) for value in (None, 0, 2**31 - 1)],
]


@pytest.mark.parametrize(("setting", "value"), WRONG)
def test_what_a_job_may_not_have_is_refused_in_the_same_words_by_all(setting: JobSetting, value: object) -> None:
    wanted = WANTED[setting]
    assert not may_be(setting, value)
    with pytest.raises(InvalidConfig) as by_the_scheduler:
        moves.check("it", setting, value)
    with pytest.raises(InvalidConfig) as by_the_searcher:
        check_edits({setting.value: value})
    assert wanted in by_the_scheduler.value.message
    assert f"expected {wanted}; found {value!r}" in by_the_searcher.value.message


@pytest.mark.parametrize(("setting", "value"), WRONG)
def test_the_gateway_refuses_a_change_of_the_queue_in_these_words(setting: JobSetting, value: object) -> None:
    if setting is JobSetting.MAX_SLOTS:
        return  # that is changed through the experiment
    check: Any = checked_priority if setting is JobSetting.PRIORITY else checked_weight
    with pytest.raises(InvalidConfig, match="updates") as refused:
        check(value, f"updates[0].{setting}")
    assert WANTED[setting] in refused.value.message


@pytest.mark.parametrize(("setting", "value"), RIGHT)
def test_what_a_job_may_have_is_taken_by_all(setting: JobSetting, value: object) -> None:
    assert may_be(setting, value)
    moves.check("it", setting, value)
    check_edits({setting.value: value})


@pytest.mark.parametrize("priority", [PRIORITY_FIRST, PRIORITY_LAST])
def test_a_configuration_takes_the_same_priorities(priority: int) -> None:
    assert Scheduler(default_priority=priority).default_priority == priority
    for beyond in (PRIORITY_FIRST - 1, PRIORITY_LAST + 1):
        with pytest.raises(ValueError, match="default_priority"):
            Scheduler(default_priority=beyond)


@pytest.mark.parametrize("policy", PolicyName)
@pytest.mark.parametrize("rule", WaitRule)
def test_there_is_advice_for_whatever_something_waits_for(rule: WaitRule, policy: PolicyName) -> None:
    assert advice(rule, Scheduler(type=policy), ["job-2"], job_id="job-1", priority=42, weight=1.0)


def test_each_rule_is_told_to_the_first_of_a_line_or_to_others() -> None:
    assert {"", *WaitRule} == RULES_OF_THE_FIRST | RULES_OF_OTHERS
    assert RULES_OF_THE_FIRST.isdisjoint(RULES_OF_OTHERS)
