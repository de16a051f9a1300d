"""What a task finds in its environment."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from determined import _info, util
from resolute.agent.environment import Site, by_file, environment, harness_directory
from resolute.config import masking, secrets
from resolute.proto.pool import Placement, Slot, StartTask
from resolute.proto.tasks import TaskSpec

SPEC = TaskSpec(
    task_id="7.f00d",
    task_type="TRIAL",
    allocation_id="7.f00d.1",
    experiment_id=7,
    trial_id=9,
    run_id=2,
    owner="ada",
    config={"name": "mnist", "data": {"rows": 5}},
    hparams={"lr": 0.1},
    seed=17,
    steps_completed=100,
    checkpoint="c0ffee",
    environment={"MODE": "test"},
)
ORDER = StartTask(Placement("res-1", "a1", (1,)), SPEC, "a token", rank=0, shares=1)
CPUS = tuple(Slot(n, "cpu") for n in range(2))
GPUS = tuple(Slot(n, "cuda", "H200", f"GPU-{n}") for n in range(4))
SITE = Site("a1", "cluster-1", "http://10.0.0.9:8080/", CPUS, 8, {"PATH": "/bin"}, "/opt/harness")


def of(order: StartTask = ORDER, site: Site = SITE, **chosen: str) -> dict[str, str]:
    spec = replace(order.spec, environment={**order.spec.environment, **chosen})
    return environment(replace(order, spec=spec), site, "/tasks/res-1/run")


def test_the_harness_reads_from_it_all_that_the_cluster_said() -> None:
    info = _info.read_cluster_info(of())
    assert info is not None
    assert (info.master_url, info.cluster_id, info.agent_id) == ("http://10.0.0.9:8080", "cluster-1", "a1")
    assert (info.task_id, info.allocation_id, info.session_token) == ("7.f00d", "7.f00d.1", "a token")
    assert (info.task_type, info.slot_ids, info.latest_checkpoint) == ("TRIAL", [1], "c0ffee")
    assert (info.trial.experiment_id, info.trial.trial_id, info.trial.trial_seed) == (7, 9, 17)
    assert (info.trial.hparams, info.user_data) == ({"lr": 0.1}, {"rows": 5})
    assert (info.trial._trial_run_id, info.trial._steps_completed) == (2, 100)


@pytest.mark.parametrize("stated", [{"image": "i", "registry_auth": {"username": "ada", "password": "p"}}, None, {}])
def test_the_login_to_the_registry_stays_with_the_agent(stated: dict[str, object] | None) -> None:
    order = replace(ORDER, spec=replace(SPEC, config={"name": "mnist", "environment": stated}))
    left = stated and {"image": "i"}
    assert json.loads(of(order)["DET_EXPERIMENT_CONFIG"]) == {"name": "mnist", "environment": left}


def test_a_task_hides_the_same_secrets_as_the_cluster() -> None:
    assert util._SECRETS == secrets.FIELDS
    login = {"username": "ada", "password": "p", "auth": "a", "identitytoken": "i", "registrytoken": "r"}
    config = {
        "data": {"secrets": {"key": "k", "none": None}},
        "checkpoint_storage": {"type": "s3", "access_key": "a", "secret_key": None},
        "environment": {"registry_auth": login},
        "integrations": {"pachyderm": {"dataset": {"token": "t"}, "proxy": None}},
    }
    assert util.masked(config) == masking.masked(config)
    assert util.masked({"data": None, "environment": {}}) == {"data": None, "environment": {}}


def test_a_fresh_start_names_no_checkpoint() -> None:
    order = replace(ORDER, spec=replace(SPEC, checkpoint=None))
    assert "DET_LATEST_CHECKPOINT" not in of(order)


def test_a_task_that_is_no_trial_has_no_trial() -> None:
    order = replace(ORDER, spec=replace(SPEC, trial_id=None, experiment_id=None, task_type="COMMAND"))
    variables = of(order)
    assert not [name for name in variables if "TRIAL_ID" in name or "HPARAMS" in name]
    assert json.loads(variables["DET_TASK_LOGGING_METADATA"]) == {"task_id": "7.f00d", "allocation_id": "7.f00d.1"}


def test_a_task_continues_the_trace_of_who_asked_for_it() -> None:
    assert of(replace(ORDER, traceparent="00-abc-def-01"))["TRACEPARENT"] == "00-abc-def-01"
    assert "TRACEPARENT" not in of()


def test_what_the_user_sets_wins_over_the_host_but_not_over_the_cluster() -> None:
    variables = of(PATH="/mine", DET_TASK_ID="another's", OMP_NUM_THREADS="3")
    assert (variables["PATH"], variables["DET_TASK_ID"], variables["OMP_NUM_THREADS"]) == ("/mine", "7.f00d", "3")


def test_amds_gpus_are_not_hidden_by_the_name_of_nvidias() -> None:
    site = replace(SITE, slots=tuple(Slot(n, "rocm", "MI210", f"GPU-{n}") for n in range(2)))
    variables = of(site=site)
    assert variables["ROCR_VISIBLE_DEVICES"] == "GPU-1"
    assert "CUDA_VISIBLE_DEVICES" not in variables


def test_variables_are_those_for_the_kind_of_device() -> None:
    stated = {"cpu": ["MODE=cpu"], "cuda": ["MODE=cuda", "NCCL_DEBUG=INFO"], "rocm": []}
    config = {"environment": {"environment_variables": stated}}
    order = replace(ORDER, spec=replace(SPEC, config=config, environment={"MODE": "cpu"}))
    assert environment(order, SITE, "/run")["MODE"] == "cpu"
    on_gpus = environment(order, replace(SITE, slots=GPUS), "/run")
    assert (on_gpus["MODE"], on_gpus["NCCL_DEBUG"]) == ("cuda", "INFO")


def test_in_a_container_the_image_says_where_programs_are() -> None:
    site = replace(SITE, inherited={}, default_path="", harness="/opt/resolute/harness")
    variables = of(site=site)
    assert "PATH" not in variables
    assert variables["PYTHONPATH"] == "/opt/resolute/harness"
    assert of(site=site, PATH="/mine")["PATH"] == "/mine"


def test_gpus_are_named_by_their_own_names_and_others_are_out_of_sight() -> None:
    site = replace(SITE, slots=GPUS)
    order = replace(ORDER, placement=Placement("res-1", "a1", (1, 3)))
    assert of(order, site)["CUDA_VISIBLE_DEVICES"] == "GPU-1,GPU-3"
    assert of(replace(ORDER, placement=Placement("res-1", "a1", ())), site)["CUDA_VISIBLE_DEVICES"] == ""


@pytest.mark.parametrize(("slot_ids", "threads"), [((0,), "4"), ((0, 1), "8"), ((), "4")])
def test_cpu_slots_share_the_cores_evenly(slot_ids: tuple[int, ...], threads: str) -> None:
    assert of(replace(ORDER, placement=Placement("res-1", "a1", slot_ids)))["OMP_NUM_THREADS"] == threads


def test_the_harness_comes_before_what_the_user_puts_on_the_path() -> None:
    assert of(PYTHONPATH="/mine")["PYTHONPATH"] == "/opt/harness:/mine"


def test_two_tasks_of_one_host_are_given_different_ports() -> None:
    first, second = of(replace(ORDER, placement=Placement("r", "a1", (0,)))), of()
    ports = [name for name in first if name.endswith("PORT") or "COMM_PORT" in name]
    assert len(ports) == 5
    assert not {first[p] for p in ports if p != "DET_MASTER_PORT"} & {
        second[p] for p in ports if p != "DET_MASTER_PORT"
    }


def test_the_harness_is_found_where_it_is_installed() -> None:
    assert Path(harness_directory(), "determined", "__init__.py").is_file()


def test_a_task_finds_the_interpreter_it_runs_with_first() -> None:
    site = replace(SITE, programs="/venv/bin")
    assert of(site=site)["PATH"] == "/venv/bin:/bin"
    assert of(site=site, PATH="/mine")["PATH"] == "/mine"


def test_a_task_is_told_by_which_certificate_it_knows_the_gateway() -> None:
    told = of(site=replace(SITE, master_url="https://gateway:8080", master_cert="/run/determined/master.crt"))
    assert (told["DET_MASTER"], told["DET_USE_TLS"]) == ("https://gateway:8080", "true")
    assert told["DET_MASTER_CERT_FILE"] == "/run/determined/master.crt"
    assert "DET_MASTER_CERT_FILE" not in of()


def test_what_is_too_large_for_a_variable_goes_into_a_file_that_the_harness_reads(tmp_path: Path) -> None:
    config = {"name": "mnist", "data": {"text": "x" * 200_000}}
    spec = replace(ORDER.spec, config=config, hparams={"table": "y" * 200_000, "lr": 0.1})
    whole = environment(replace(ORDER, spec=spec), SITE, str(tmp_path))
    variables, files = by_file(whole, str(tmp_path))
    assert max(len(value) for value in variables.values()) < 131_072
    assert variables["DET_EXPERIMENT_CONFIG_FILE"] == f"{tmp_path}/DET_EXPERIMENT_CONFIG.json"
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    info = _info.read_cluster_info(variables)
    assert info is not None
    assert info.trial.hparams == spec.hparams
    assert info.user_data == config["data"]


def test_what_is_small_stays_a_variable() -> None:
    whole = of()
    assert by_file(whole, "/tasks/res-1/run") == (whole, {})
