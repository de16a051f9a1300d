"""What a submitted configuration becomes, and what a person hears when it cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resolute.config import ClusterDefaults, Length, from_merged, load_yaml, parse_experiment
from resolute.proto.errors import InvalidConfig

CLUSTER = ClusterDefaults(
    checkpoint_storage={"type": "shared_fs", "host_path": "/shared", "storage_path": "checkpoints"},
    created_at_s=1_700_000_000,
    default_priority=42,
    name="Experiment (calm-blue-heron)",
)
SMALLEST = {"entrypoint": "python3 train.py", "searcher": {"name": "single", "metric": "loss"}}


def submitted(**changes: Any) -> dict[str, Any]:
    return {**SMALLEST, **changes}


def searching(**searcher: Any) -> dict[str, Any]:
    return submitted(searcher={"name": "single", "metric": "loss", **searcher})


def refusal(raw: dict[str, Any], defaults: ClusterDefaults = CLUSTER) -> list[str]:
    with pytest.raises(InvalidConfig) as refused:
        parse_experiment(raw, defaults)
    return refused.value.message.splitlines()


# ---------------------------------------------------------------- what comes out


def test_the_smallest_configuration_is_completed_with_every_default() -> None:
    merged = parse_experiment(SMALLEST, CLUSTER).merged
    assert merged["name"] == "Experiment (calm-blue-heron)"
    assert merged["max_restarts"] == 5
    assert merged["preemption_timeout"] == 3600
    assert merged["checkpoint_policy"] == "best"
    assert merged["checkpoint_storage"]["host_path"] == "/shared"
    assert merged["checkpoint_storage"]["save_trial_best"] == 1
    assert merged["min_validation_period"] == {"batches": 0}
    assert merged["resources"]["resource_pool"] == "default"
    assert merged["resources"]["priority"] == 42
    assert merged["reproducibility"]["experiment_seed"] == 1_700_000_000
    assert merged["environment"]["environment_variables"] == {"cpu": [], "cuda": [], "rocm": []}
    assert [policy["name"] for policy in merged["log_policies"]] == ["CUDA OOM", "ECC Error"]
    assert merged["searcher"] == {
        "name": "single",
        "metric": "loss",
        "smaller_is_better": True,
        "max_length": None,
        "source_trial_id": None,
        "source_checkpoint_uuid": None,
    }


def test_a_merged_configuration_is_plain_json_and_reads_back_as_itself() -> None:
    config = parse_experiment(searching(max_length={"epochs": 3}), CLUSTER)
    assert from_merged(json.loads(json.dumps(config.merged))) == config


def test_a_merged_configuration_submitted_again_changes_nothing() -> None:
    """Forking an experiment sends back what the server showed."""
    config = parse_experiment(submitted(hyperparameters={"lr": 0.1, "net": {"width": 8}}), CLUSTER)
    assert parse_experiment(config.merged, CLUSTER).merged == config.merged


def test_parsing_changes_neither_the_submission_nor_the_clusters_layers() -> None:
    raw = submitted(labels=["b", "a"], environment={"environment_variables": ["A=1"]})
    storage = dict(CLUSTER.checkpoint_storage or {})
    before = json.dumps(raw)
    parse_experiment(raw, CLUSTER).merged["environment"]["environment_variables"]["cpu"].append("B=2")
    assert json.dumps(raw) == before
    assert CLUSTER.checkpoint_storage == storage


def test_plain_hyperparameters_are_constants_and_groups_stay_groups() -> None:
    config = parse_experiment(submitted(hyperparameters={"lr": 1e-3, "net": {"layers": [1, 2]}}), CLUSTER)
    assert config.merged["hyperparameters"] == {
        "lr": {"type": "const", "val": 0.001},
        "net": {"layers": {"type": "const", "val": [1, 2]}},
    }


def test_a_key_without_a_value_is_unset() -> None:
    raw = load_yaml("entrypoint: python3 a.py\nenvironment:\nlabels:\nsearcher: {name: single, metric: loss}\n")
    assert (
        parse_experiment(raw, CLUSTER).merged
        == parse_experiment({**SMALLEST, "entrypoint": "python3 a.py"}, CLUSTER).merged
    )


def test_a_bare_length_counts_in_batches() -> None:
    assert parse_experiment(searching(max_length=250), CLUSTER).searcher.max_length == Length("batches", 250)


def test_work_without_slots_goes_to_the_aux_pool() -> None:
    defaults = ClusterDefaults(
        checkpoint_storage=CLUSTER.checkpoint_storage, default_aux_pool="aux", default_compute_pool="gpus"
    )
    pools = {
        slots: parse_experiment(submitted(resources={"slots_per_trial": slots}), defaults).resources.resource_pool
        for slots in (0, 1)
    }
    assert pools == {0: "aux", 1: "gpus"}


def test_one_image_serves_every_kind_of_slot_and_gpu_means_cuda() -> None:
    image = parse_experiment(submitted(environment={"image": "mine:1"}), CLUSTER).environment["image"]
    assert image == {"cpu": "mine:1", "cuda": "mine:1", "rocm": "mine:1"}
    older = parse_experiment(submitted(environment={"image": {"gpu": "old:1"}}), CLUSTER)
    assert older.environment["image"]["cuda"] == "old:1"
    assert "environment.image.gpu: is the former name of cuda" in older.warnings


@pytest.mark.parametrize(("written", "size"), [(4096, 4096), ("4G", 4 * 2**30), ("512 MiB", 2**29), ("1.5kb", 1536)])
def test_shared_memory_is_bytes_or_a_number_with_a_unit(written: Any, size: int) -> None:
    assert parse_experiment(submitted(resources={"shm_size": written}), CLUSTER).resources.shm_size_bytes == size


def test_a_device_may_be_written_as_text() -> None:
    merged = parse_experiment(submitted(resources={"devices": ["/dev/ib0:/dev/ib0"]}), CLUSTER).merged
    assert merged["resources"]["devices"] == [{"host_path": "/dev/ib0", "container_path": "/dev/ib0", "mode": "mrw"}]


def test_the_former_name_of_the_storage_path_is_still_read() -> None:
    storage = {"type": "shared_fs", "host_path": "/shared", "checkpoint_path": "old"}
    config = parse_experiment(submitted(checkpoint_storage=storage), CLUSTER)
    assert config.checkpoint_storage["storage_path"] == "old"
    assert "checkpoint_path" not in config.checkpoint_storage


def test_fields_without_effect_are_accepted_told_of_and_left_out() -> None:
    config = parse_experiment(
        submitted(data_layer={"type": "s3"}, resources={"agent_label": "x"}, security={"kerberos": {}}), CLUSTER
    )
    assert config.warnings == [
        "data_layer: is ignored",
        "resources.agent_label: is ignored",
        "security: is ignored",
    ]
    assert "data_layer" not in config.merged


def test_a_trial_class_as_entrypoint_works_and_warns() -> None:
    config = parse_experiment(submitted(entrypoint="model_def:MNistTrial"), CLUSTER)
    assert config.entrypoint == "model_def:MNistTrial"
    assert any("determined.launch.torch_distributed" in warning for warning in config.warnings)


def test_an_unmanaged_experiment_needs_no_entrypoint() -> None:
    raw = {"searcher": SMALLEST["searcher"]}
    assert parse_experiment(raw, CLUSTER, managed=False).entrypoint is None
    assert refusal(raw) == ["entrypoint: missing. Write the command that starts training, as python3 train.py."]


# ---------------------------------------------------------------- layers


def test_layers_win_from_the_submission_down() -> None:
    defaults = ClusterDefaults(
        template={"max_restarts": 1, "debug": True, "environment": {"environment_variables": ["A=template"]}},
        task_container_defaults={"environment_variables": ["A=cluster", "C=1"], "preemption_timeout": 60},
        workspace_checkpoint_storage={"type": "shared_fs", "host_path": "/team"},
        checkpoint_storage={"type": "shared_fs", "host_path": "/cluster", "save_trial_best": 3},
    )
    raw = submitted(max_restarts=0, environment={"environment_variables": ["A=mine"]})
    config = parse_experiment(raw, defaults)
    assert (config.max_restarts, config.debug, config.preemption_timeout_s) == (0, True, 60)
    assert config.environment["environment_variables"]["cpu"] == ["A=cluster", "C=1", "A=template", "A=mine"]
    assert config.checkpoint_storage["host_path"] == "/team"
    assert config.retention.save_trial_best == 3


def test_storage_of_another_kind_takes_only_the_counts_from_below() -> None:
    defaults = ClusterDefaults(checkpoint_storage={"type": "s3", "bucket": "b", "save_trial_latest": 7})
    raw = submitted(checkpoint_storage={"type": "directory", "container_path": "/ckpt"})
    storage = parse_experiment(raw, defaults).checkpoint_storage
    assert "bucket" not in storage
    assert (storage["container_path"], storage["save_trial_latest"]) == ("/ckpt", 7)


def test_an_invariant_overrides_everything() -> None:
    first, last = {"resources": {"priority": 80, "weight": 2}}, {"resources": {"priority": 70}, "labels": ["set"]}
    defaults = ClusterDefaults(checkpoint_storage=CLUSTER.checkpoint_storage, invariants=(first, last))
    config = parse_experiment(submitted(resources={"priority": 1}, labels=["own"]), defaults)
    assert (config.resources.priority, config.resources.weight, config.labels) == (70, 2, ("own", "set"))


def test_what_is_wrong_in_a_template_is_told_with_its_place() -> None:
    lines = refusal(SMALLEST, ClusterDefaults(checkpoint_storage=CLUSTER.checkpoint_storage, template={"nam": "x"}))
    assert lines == ["template.nam: unknown field. Did you mean 'name'?"]


# ---------------------------------------------------------------- refusals


def test_every_problem_is_told_at_once_a_line_each() -> None:
    lines = refusal(
        {
            "nmae": "x",
            "max_restarts": "five",
            "searcher": {"name": "single", "metric": "loss", "max_length": {"steps": 5}},
            "hyperparameters": {"lr": {"type": "double", "minval": 2, "maxval": 1}},
        }
    )
    assert lines == [
        "nmae: unknown field. Did you mean 'name'?",
        "max_restarts: expected a whole number; found 'five'.",
        "searcher.max_length: expected one of batches, records, epochs; found 'steps'. Did you mean 'batches'?",
        "hyperparameters.lr: expected minval below maxval; found minval 2 and maxval 1. Swap them.",
        "entrypoint: missing. Write the command that starts training, as python3 train.py.",
    ]


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"searcher": None}, "searcher: missing. Say at least its name and metric"),
    ({"searcher": {"name": "single"}}, "searcher.metric: missing. Name the validation metric"),
    ({"searcher": {"metric": "loss"}}, "searcher.name: missing. Write one of single, random"),
    ({"searcher": "single"}, "searcher: expected an object; found 'single'"),
    ({"slots_per_trial": 2}, "slots_per_trial: unknown field. Did you mean 'resources.slots_per_trial'?"),
    ({"batch_size": 32}, "batch_size: this field is gone. Write hyperparameters.global_batch_size."),
    ({"batches_per_step": 32}, "batches_per_step: this field is gone. Write scheduling_unit."),
    ({"min_validation_period": 10}, "min_validation_period: expected an object with one of batches, records, epochs"),
    ({"labels": "one"}, "labels: expected a list; found 'one'. Write [one]."),
    ({"name": 7}, "name: expected text; found 7. Put it in quotes."),
    ({"debug": "yes"}, "debug: expected true or false; found 'yes'."),
    ({"max_restarts": True}, "max_restarts: expected a whole number; found true."),
    ({"max_restarts": -1}, "max_restarts: expected a whole number of at least 0; found -1."),
    ({"resources": {"priority": 100}}, "resources.priority: expected a whole number from 1 to 99; found 100."),
    ({"resources": {"slots_per_trial": 4, "max_slots": 2}}, "resources.max_slots: expected at least resources.slots"),
    ({"resources": {"shm_size": "big"}}, "resources.shm_size: expected bytes, or a number with a unit"),
    ({"checkpoint_policy": "bets"}, "checkpoint_policy: expected one of best, all, none; found 'bets'. Did you mean"),
    ({"project": "p"}, "workspace: missing. It goes together with project ('p'), or leave both out."),
    ({"profiling": {"begin_on_batch": 9, "end_after_batch": 3}}, "profiling.begin_on_batch: expected at most"),
    ({"bind_mounts": [{"host_path": "data", "container_path": "/d"}]}, "bind_mounts[0].host_path: expected an absol"),
    ({"bind_mounts": [{"host_path": "/data"}]}, "bind_mounts[0].container_path: missing."),
    ({"environment": {"runtime": "x"}}, "environment.runtime: this field is gone. Name an image"),
    ({"environment": {"environment_variables": ["=1"]}}, "environment.environment_variables[0]: expected NAME=VALUE"),
    ({"environment": {"proxy_ports": [{}]}}, "environment.proxy_ports[0].proxy_port: missing."),
    ({"data": {"x": [float("inf")]}}, "data.x[0]: expected a value JSON can carry"),
    ({"data": {"x": {1}}}, "data.x: expected a value JSON can carry"),
    ({"description": "a\0b"}, "description: expected text without NUL characters"),
    ({"hyperparameters": {"lr": float("nan")}}, "hyperparameters.lr: expected a value JSON can carry"),
    ({"entrypoint": ""}, "entrypoint: expected a command"),
    ({"checkpoint_storage": {"type": "hdfs"}}, "checkpoint_storage.type: 'hdfs' is no longer supported."),
    ({"checkpoint_storage": {"type": "s3"}}, "checkpoint_storage.bucket: missing. Storage of type s3 needs it."),
    ({"checkpoint_storage": {"storage_path": "../up"}}, "checkpoint_storage.storage_path: expected a path inside"),
    ({"checkpoint_storage": {"host_path": "rel"}}, "checkpoint_storage.host_path: expected an absolute path"),
    ({"checkpoint_storage": {"type": "azure", "container": "c"}}, "checkpoint_storage: expected exactly one of conn"),
    ({"integrations": {"pachyderm": {"pachd": {"host": "h"}}}}, "integrations.pachyderm.pachd.port: missing."),
    ({"log_policies": [{"pattern": "x"}]}, "log_policies[0].name: missing."),
    (
        {"log_policies": [{"name": "n", "pattern": "(a"}]},
        "log_policies[0].pattern: expected a regular expression of RE2; found '(a'. Missing ): (a.",
    ),
    ({"hyperparameters": {"a": {"type": "int", "minval": 1.5, "maxval": 3}}}, "hyperparameters.a.minval: expected a w"),
    ({"hyperparameters": {"a": {"type": "intt"}}}, "hyperparameters.a.type: expected one of const, int"),
    ({"hyperparameters": {"a": {"type": "log", "minval": 1, "maxval": 3}}}, "hyperparameters.a.base: missing."),
    ({"hyperparameters": {"a": {"b": {"type": "categorical", "vals": []}}}}, "hyperparameters.a.b.vals: expected at"),
    ({"hyperparameters": {"a": {"type": "double", "minval": 0, "maxval": 1, "step": 1}}}, "hyperparameters.a.step: un"),
    ({"hyperparameters": {"a": {"type": "int", "minval": 3, "maxval": 3}}}, "hyperparameters.a: expected minval below"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "beginning"), REFUSALS, ids=[text.split(":")[0] for _, text in REFUSALS])
def test_bad_input_is_refused_with_its_path_and_the_remedy(changes: dict[str, Any], beginning: str) -> None:
    lines = refusal(submitted(**changes))
    assert len(lines) == 1 or "integrations" in beginning, lines
    assert lines[0].startswith(beginning), lines[0]


SEARCHER_REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"name": "random"}, "searcher.max_trials: missing. Say how many trials random may make."),
    ({"name": "single", "max_trials": 2}, "searcher.max_trials: does not apply when searcher.name is 'single', only"),
    ({"name": "adaptive_assha"}, "searcher.name: expected one of single, random, grid, async_halving, adaptive_asha"),
    ({"name": "custom", "unit": "steps"}, "searcher.unit: expected one of batches, records, epochs; found 'steps'"),
    ({"name": "custom", "max_length": 9}, "searcher.max_length: does not apply when searcher.name is 'custom'"),
    ({"name": "adaptive_simple"}, "searcher.name: 'adaptive_simple' is no longer supported. Use adaptive_asha"),
    ({"name": "asha", "max_trials": 4, "max_length": 9}, "searcher.num_rungs: missing."),
    ({"name": "single", "max_steps": 4}, "searcher.max_steps: this field is gone. Write searcher.max_length"),
    ({"max_length": {"batches": 1, "epochs": 1}}, "searcher.max_length: expected exactly one of batches, records"),
    ({"max_length": 0}, "searcher.max_length: expected a whole number of at least 1; found 0."),
    ({"name": "adaptive_asha", "max_trials": 4}, "searcher.max_length: missing. adaptive_asha needs max_length"),
    ({"name": "adaptive_asha", "max_trials": 4, "max_time": 3}, "searcher.time_metric: missing. It goes together"),
    ({"name": "async_halving", "max_trials": 4, "max_length": 9}, "searcher.num_rungs: missing."),
    ({"source_trial_id": 1, "source_checkpoint_uuid": "u"}, "searcher: expected at most one of source_trial_id"),
]  # fmt: skip


ASHA = {"name": "asha", "max_trials": 4, "max_length": 9}
ADAPTIVE = {"name": "adaptive_asha", "max_trials": 4}
TIMED = {**ADAPTIVE, "time_metric": "t", "max_time": 5}
SEARCHER_REFUSALS += [
    (
        {**ASHA, "num_rungs": 3},
        "searcher.num_rungs: expected at most 2, as many as fit searcher.max_length (9) with searcher.divisor (4); "
        "found 3. Lower it, or raise searcher.max_length.",
    ),
    ({**ASHA, "max_length": 2, "num_rungs": 8, "divisor": 1.1}, "searcher.num_rungs: expected at most 2"),
    ({**ADAPTIVE, "max_length": 16, "bracket_rungs": [3, 4]}, "searcher.bracket_rungs[1]: expected at most 3"),
    (
        {**ADAPTIVE, "max_length": 16, "bracket_rungs": [1] * 5},
        "searcher.bracket_rungs: expected at most as many brackets as searcher.max_trials (4); found 5.",
    ),
    (
        {**ADAPTIVE, "max_length": 16, "max_rungs": 2**31 - 1},
        "searcher.max_rungs: expected a whole number from 1 to 100",
    ),
    (
        {**ASHA, "max_length": 1000, "num_rungs": 20_000, "divisor": 1.0001},
        "searcher.num_rungs: expected a whole number",
    ),
    ({**ASHA, "num_rungs": 2, "divisor": 0}, "searcher.divisor: expected a number above 1; found 0."),
    ({**ASHA, "num_rungs": 2, "divisor": 10**400}, "searcher.divisor: expected a number; found 1000"),
    (
        {**ASHA, "num_rungs": 2, "max_length": {"records": 10**400}},
        "searcher.max_length.records: expected a whole number",
    ),
    ({**ASHA, "num_rungs": 1, "max_trials": 10**9}, "searcher.max_trials: expected a whole number from 1 to 100000"),
    ({**TIMED, "metric": None}, "searcher.metric: missing. Name the validation metric that ranks trials"),
    (
        {**TIMED, "bracket_rungs": [9]},
        "searcher.bracket_rungs[0]: expected at most 2, as many as fit searcher.max_time",
    ),
]


@pytest.mark.parametrize(("changes", "beginning"), SEARCHER_REFUSALS)
def test_a_searcher_is_refused_with_what_its_method_needs(changes: dict[str, Any], beginning: str) -> None:
    lines = refusal(searching(**changes))
    assert len(lines) == 1, lines
    assert lines[0].startswith(beginning), lines[0]


def test_log_policies_are_refused_that_could_not_be_looked_for_together() -> None:
    policies = [{"name": f"p{n}", "pattern": f"a{n}.{{200}}b"} for n in range(20)]
    (line,) = refusal(submitted(log_policies=policies))
    assert line.startswith("log_policies: together they are too large when compiled (")


def test_a_grid_needs_a_count_on_every_range() -> None:
    space = {"a": {"x": {"type": "double", "minval": 0, "maxval": 1}}, "b": {"type": "categorical", "vals": [1]}}
    assert refusal({**searching(name="grid"), "hyperparameters": space}) == [
        "hyperparameters.a.x.count: missing. A grid needs it: how many points on this axis."
    ]


def test_a_grid_that_is_too_large_is_refused_with_its_size_and_that_of_its_axes() -> None:
    space = {
        "a": {"x": {"type": "double", "minval": 0, "maxval": 1, "count": 50_000}, "y": 3},
        "b": {"type": "int", "minval": 1, "maxval": 3, "count": 1000},
    }
    assert refusal({**searching(name="grid"), "hyperparameters": space}) == [
        "hyperparameters: expected a grid of at most 100,000 trials; found a grid of 150,000 (a.x 50000 x b 3). "
        "Lower a count, or use random."
    ]


def test_a_grid_whose_size_nobody_would_write_out_is_refused_all_the_same() -> None:
    space = {f"a{n:03}": {"type": "double", "minval": 0, "maxval": 1, "count": 2**31 - 1} for n in range(600)}
    (line,) = refusal({**searching(name="grid"), "hyperparameters": space})
    assert "found a grid of more than 10^15 (a000 2147483647 x " in line
    assert line.endswith(" x 592 more). Lower a count, or use random.")


def test_asha_is_another_name_of_async_halving() -> None:
    parsed = parse_experiment(searching(name="asha", max_trials=4, max_length=16, num_rungs=2, stop_once=True), CLUSTER)
    assert (parsed.searcher.name, parsed.searcher.stop_once) == ("async_halving", True)
    assert parsed.merged["searcher"]["name"] == "async_halving"


def test_a_search_by_length_that_names_no_metric_goes_by_val_loss() -> None:
    older = submitted(searcher={"name": "single", "max_length": {"epochs": 2}})
    assert parse_experiment(older, CLUSTER).searcher.metric == "val_loss"
    assert refusal(submitted(searcher={"name": "single"}))[0].startswith("searcher.metric: missing.")


def test_a_search_by_time_stops_its_trials_and_says_so_when_asked_to_let_them_wait() -> None:
    timed = {"name": "adaptive_asha", "max_trials": 4, "time_metric": "epochs", "max_time": 16, "stop_once": False}
    assert any(
        line.startswith("searcher.stop_once: is ig") for line in parse_experiment(searching(**timed), CLUSTER).warnings
    )


def test_the_lengths_of_a_custom_search_are_in_its_own_unit() -> None:
    parsed = parse_experiment(searching(name="custom", unit="epochs"), CLUSTER).searcher
    assert (parsed.unit, parsed.max_length, parsed.max_concurrent_trials) == ("epochs", None, 0)


def test_a_cluster_without_storage_asks_for_one() -> None:
    assert refusal(SMALLEST, ClusterDefaults())[0].startswith("checkpoint_storage: missing.")
