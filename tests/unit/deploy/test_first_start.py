"""What a cluster in containers is given on its first start, and keeps on every later one."""

from __future__ import annotations

import json
import ssl
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr

from resolute.api.monitoring import targets
from resolute.bus import roles
from resolute.deploy import agent_container, certificates, first_start
from resolute.deploy.first_start import FirstStartSettings
from resolute.deploy.paths import write_private
from resolute.proto.errors import Refused
from resolute.service import metrics_token

COMPOSE = Path(__file__).parents[3] / "compose"
READERS = ("services", "gateway", "postgres", "nats", "agents", "metrics", "grafana", "trust")


def started(folder: Path, **settings: object) -> dict[str, str]:
    """Start for the first time, or once more; what every file then holds."""
    first_start.main(folder / "made", folder / "data", FirstStartSettings.model_validate(settings))
    files = (file for file in (folder / "made").rglob("*") if file.is_file())
    return {str(file.relative_to(folder / "made")): file.read_text() for file in files}


@pytest.fixture
def made(tmp_path: Path) -> dict[str, str]:
    return started(tmp_path)


def test_a_later_start_changes_nothing(made: dict[str, str], tmp_path: Path) -> None:
    assert started(tmp_path) == made


def test_a_start_that_was_cut_off_before_it_gave_a_file_away_is_made_good_by_the_next(
    made: dict[str, str], tmp_path: Path
) -> None:
    def given() -> dict[str, tuple[int, int]]:
        found = (file.stat() for file in files)
        return {file.name: (stat.S_IMODE(was.st_mode), was.st_uid) for file, was in zip(files, found, strict=True)}

    files = [tmp_path / "made" / name for name in ("postgres/password", "nats/nats.conf", "trust/ca.crt")]
    before = given()
    for file in files:
        write_private(file, file.read_text())
    assert given() != before
    started(tmp_path)
    assert given() == before


def test_more_agents_get_keys_and_those_that_were_there_keep_theirs(made: dict[str, str], tmp_path: Path) -> None:
    later = started(tmp_path, agents=6)
    assert {name for name in later if name not in made} == {"agents/agent-5.seed", "agents/agent-6.seed"}
    assert all(later[name] == text for name, text in made.items() if name.endswith(".seed"))
    for seed in (text for name, text in later.items() if name.endswith(".seed")):
        assert roles.key_of(seed).public in later["nats/nats.conf"]


def test_each_reader_is_given_what_it_needs_and_no_other_secret(made: dict[str, str]) -> None:
    identity = json.loads(made["authority/identity.json"])
    secrets = {
        "database_password": {"services", "gateway", "postgres"},
        "cluster_secret": {"services", "gateway"},
        "user_password": {"gateway"},
        "service_seed": {"services", "gateway"},
        "metrics_token": {"services", "gateway", "agents", "metrics"},
        "grafana_password": {"grafana"},
    }
    for name, readers in secrets.items():
        found = {file.partition("/")[0] for file, text in made.items() if identity[name] in text}
        assert found - {"authority"} == readers, name
    private = {file.partition("/")[0] for file, text in made.items() if "PRIVATE KEY" in text}
    assert private == {"authority", "gateway", "nats"}
    assert made["nats/tls.key"] != made["gateway/tls.key"]


def test_what_is_secret_is_for_its_owners_eyes_only(made: dict[str, str], tmp_path: Path) -> None:
    for reader in READERS:
        folder = tmp_path / "made" / reader
        open_to_all = reader == "trust"
        for path in (folder, *folder.iterdir()):
            assert bool(stat.S_IMODE(path.stat().st_mode) & 0o077) == open_to_all, path


def test_the_gateways_certificate_is_good_for_its_names_and_by_the_authority_that_clients_trust(tmp_path: Path) -> None:
    started(tmp_path, hostnames="ml.example.org, 10.1.2.3")
    made = tmp_path / "made"
    verify = ["openssl", "verify", "-CAfile", str(made / "trust" / "ca.crt")]
    for option, name in (
        ("-verify_hostname", "localhost"),
        ("-verify_hostname", "gateway"),
        ("-verify_hostname", "ml.example.org"),
        ("-verify_ip", "127.0.0.1"),
        ("-verify_ip", "10.1.2.3"),
    ):
        subprocess.run([*verify, option, name, str(made / "gateway" / "tls.crt")], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made / "gateway" / "tls.crt", made / "gateway" / "tls.key")


def test_nats_has_a_certificate_that_outlasts_the_gateways(made: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "made"
    verify = ["openssl", "verify", "-CAfile", str(folder / "services" / "ca.crt"), "-verify_hostname", "nats"]
    subprocess.run([*verify, str(folder / "nats" / "tls.crt")], check=True, capture_output=True)
    five_years = ["openssl", "x509", "-noout", "-checkend", str(5 * 365 * 86400), "-in"]
    assert subprocess.run([*five_years, folder / "nats" / "tls.crt"], check=False, capture_output=True).returncode == 0
    assert subprocess.run([*five_years, folder / "gateway" / "tls.crt"], check=False, capture_output=True).returncode


def test_a_certificate_for_other_names_is_made_anew_by_the_same_authority(made: dict[str, str], tmp_path: Path) -> None:
    later = started(tmp_path, hostnames="ml.example.org")
    assert later["gateway/tls.crt"] != made["gateway/tls.crt"]
    assert later["trust/ca.crt"] == made["trust/ca.crt"]


def test_a_certificate_is_made_anew_while_it_is_still_good(
    made: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "RENEW_DAYS", certificates.DAYS + 1)
    assert started(tmp_path)["gateway/tls.crt"] != made["gateway/tls.crt"]


def test_a_password_may_be_chosen_the_first_time(tmp_path: Path) -> None:
    assert started(tmp_path, initial_user_password=SecretStr("chosen"))["gateway/password"] == "chosen"
    assert started(tmp_path)["gateway/password"] == "chosen"


def test_without_openssl_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="the openssl program is missing"):
        started(tmp_path)


def test_each_agents_container_is_another_agent_and_the_next_takes_the_place_of_one_that_ended(tmp_path: Path) -> None:
    keys, work = tmp_path / "made" / "agents", tmp_path / "work"
    started(tmp_path, agents=2)
    work.mkdir()
    containers = [a_container(keys, work) for _ in range(2)]
    assert sorted(name for _, name in containers) == ["agent-1", "agent-2"]
    with pytest.raises(Refused, match="2 agents on this host already"):
        agent_container.claim(keys, work)
    ended, name = containers.pop()
    ended.communicate("")
    containers.append(a_container(keys, work))
    assert containers[-1][1] == name
    for process, _ in containers:
        process.communicate("")


CLAIM = """
import sys
from pathlib import Path
from resolute.deploy.agent_container import claim

print(claim(Path(sys.argv[1]), Path(sys.argv[2])), flush=True)
sys.stdin.read()
"""


def a_container(keys: Path, work: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that is one of the agents until its input ends, and which."""
    command = [sys.executable, "-c", CLAIM, str(keys), str(work)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_a_cluster_of_an_earlier_release_gets_the_secrets_that_are_new(made: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "made" / "authority" / "identity.json"
    known = json.loads(file.read_text())
    write_private(file, json.dumps({name: value for name, value in known.items() if name != "metrics_token"}))
    later = started(tmp_path)
    assert later["metrics/token"] == later["gateway/metrics.token"] == json.loads(file.read_text())["metrics_token"]
    assert started(tmp_path) == later


def test_the_gateway_lists_every_service_of_the_compose_file_that_serves_metrics(tmp_path: Path) -> None:
    started(tmp_path)
    services = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
    ours = {name for name, service in services.items() if str(service.get("image", "")).startswith("resolute/")}
    assert {target.process for target in targets.read(tmp_path / "made" / "gateway" / "metrics.json")} == ours - {
        "init"
    }


def test_prometheus_and_grafana_are_given_what_their_configurations_name(made: dict[str, str]) -> None:
    services = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
    config = yaml.safe_load((COMPOSE / "prometheus.yml").read_text())
    mounted = {volume.split(":")[1]: volume.split(":")[0] for volume in services["prometheus"]["volumes"]}
    assert mounted["/run/resolute/metrics"] == "for-metrics"
    for job in config["scrape_configs"]:
        for section in (job, *job.get("http_sd_configs", ())):
            assert section["authorization"]["credentials_file"] == "/run/resolute/metrics/token"
            if "tls_config" in section:
                assert section["tls_config"]["ca_file"].removeprefix("/run/resolute/") in made
    assert made["metrics/token"].startswith(metrics_token.PREFIX)
    for name in ("prometheus", "grafana"):
        assert services[name]["profiles"] == ["metrics"]
    assert "grafana/password" in made
