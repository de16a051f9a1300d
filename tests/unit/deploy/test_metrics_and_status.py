"""Where a cluster's processes serve their metrics, and what `status` says of them."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from resolute.deploy import checks, cluster, metrics, processes, running, status
from resolute.deploy.cluster import AgentPart, Cluster
from resolute.deploy.paths import ClusterPaths, make_private
from resolute.proto.errors import Refused

AGENTS = (AgentPart("agent-1", slots=2), AgentPart("agent-2", runtime="docker"))
APART = Cluster("test", separate=True, replicas={"searcher": 2}, agents=AGENTS)


@pytest.fixture
def paths(tmp_path: Path) -> ClusterPaths:
    paths = ClusterPaths(tmp_path / "data")
    checks.data_directory(paths)
    return paths


def test_each_process_has_a_port_of_its_own_and_keeps_it() -> None:
    names = cluster.process_names(APART)
    assert names == [
        "relay",
        "directory",
        "searcher-1",
        "searcher-2",
        "tasks",
        "scheduler",
        "checkpoint",
        "api",
        "agent-1",
        "agent-2",
    ]
    first = metrics.ports(names, {})
    assert len({*first.values()}) == len(names)
    assert metrics.ports(names[::-1], first) == first


def test_the_first_port_can_be_chosen_and_one_that_is_taken_is_refused_by_name() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        with pytest.raises(Refused, match=f"metrics of scheduler: .*:{taken}.*--metrics-port"):
            metrics.ports(["scheduler"], {}, taken)
    assert metrics.ports(["scheduler"], {}, taken) == {"scheduler": taken}


def test_every_part_is_told_its_port_and_the_gateway_all_of_them(paths: ClusterPaths) -> None:
    names = cluster.process_names(APART)
    known = replace(APART, metrics_ports={name: 9100 + place for place, name in enumerate(names)})
    parts = {child.name: child.env for child in cluster.children(paths, known)}
    assert (parts["searcher-2"]["RESOLUTE_HEALTH_PORT"], parts["agent-2"]["RESOLUTE_AGENT_HEALTH_PORT"]) == (
        "9103",
        "9109",
    )
    metrics.tell_the_gateway(paths, known)
    listed = json.loads(Path(parts["api"]["RESOLUTE_API_METRICS_TARGETS_FILE"]).read_text())
    assert listed[2] == {"process": "searcher-1", "address": "127.0.0.1:9102"}
    assert [one["process"] for one in listed] == names


def test_an_agent_that_others_may_ask_for_metrics_is_given_the_token_and_no_other_agent_is(paths: ClusterPaths) -> None:
    name = "RESOLUTE_AGENT_METRICS_TOKEN_FILE"
    assert name not in cluster.agent_environment(paths, APART, AGENTS[0])
    open_ = replace(APART, given={"RESOLUTE_AGENT_HEALTH_HOST": "0.0.0.0"}, metrics_ports={"agent-1": 9100})
    assert cluster.agent_environment(paths, open_, AGENTS[0])[name] == str(paths.metrics_token)
    assert metrics.address(open_, "agent-1", here=True) == "127.0.0.1:9100"
    assert metrics.address(open_, "agent-1", here=False) == f"{socket.gethostname()}:9100"


def test_a_cluster_that_is_down_is_shown_as_such(paths: ClusterPaths) -> None:
    make_private(paths.agent("agent-1"))
    (paths.agent("agent-1") / "isolation").write_text("hidden: trials of all owners run as this user\n")
    found = status.look(paths, replace(APART, metrics_ports={"agent-1": 9100}))
    assert (found.running, found.ready, found.version) == (False, False, "")
    assert [(one.process.name, one.process.state, one.isolation) for one in found.agents] == [
        ("agent-1", "stopped", "hidden"),
        ("agent-2", "stopped", "containers"),
    ]
    assert [one.name for one in found.services][:3] == ["postgres", "nats", "relay"]
    text = "\n".join(status.for_people(found))
    assert "test: not running" in text
    assert "http://127.0.0.1:9100/metrics" in text
    assert json.loads(status.for_programs(found))["pools"][0]["default_for"] == "compute and aux"


def test_a_cluster_that_runs_elsewhere_is_found_by_its_supervisor(
    paths: ClusterPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs(*found: tuple[str, ClusterPaths]) -> None:
        monkeypatch.setattr(running, "clusters", lambda: iter(found))

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    usual, other = ClusterPaths.of("determined", None), ClusterPaths(tmp_path / "other")
    runs()
    assert running.find("determined", None) == usual
    runs(("mine", paths))
    assert running.find("determined", None) == paths, "the only one that runs is meant"
    assert running.find("mine", None) == paths
    assert running.find("yours", None) == ClusterPaths.of("yours", None)
    assert running.find("mine", tmp_path) == ClusterPaths(tmp_path), "what is named counts"
    runs(("mine", paths), ("other", other))
    assert running.find("other", None) == other
    with pytest.raises(Refused, match="several clusters run here; name the directory of one with --data-dir"):
        running.find("determined", None)


def test_who_runs_is_read_from_the_supervisors_and_not_believed_of_other_programs(
    paths: ClusterPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["python", "-m", "resolute.deploy.supervisor", str(paths.plan), "status", "lock"]
    seen = SimpleNamespace(pid=os.getpid(), info={"cmdline": words})
    monkeypatch.setattr(psutil, "process_iter", lambda attrs: [seen])
    cluster.save(paths, APART)
    assert list(running.clusters()) == [], "its directory knows no such supervisor"
    monkeypatch.setattr(processes, "supervisor_pid", lambda _: seen.pid)
    assert list(running.clusters()) == [("test", paths)]
