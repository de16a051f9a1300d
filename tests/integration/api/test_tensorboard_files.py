"""Deleting the TensorBoard files of an experiment over REST."""

from __future__ import annotations

from pathlib import Path

from resolute.proto.checkpoint import TensorBoardFilesDeleted
from tests.integration.api.running import running

CONFIG = """
name: a
entrypoint: python3 train.py
searcher: {{name: single, metric: loss, max_length: {{batches: 10}}}}
checkpoint_storage: {{type: shared_fs, host_path: {root}, storage_path: ckpt}}
"""


async def test_the_files_go_and_the_experiment_stays(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        admin, someone = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        code = [{"path": "train.py", "type": 48, "content": "cHJpbnQoKQ==", "mode": 420}]
        body = {"config": CONFIG.format(root=tmp_path), "modelDefinition": code, "activate": False}
        made = (await admin.post("/api/v1/experiments", body))["experiment"]["id"]
        cluster_id = cluster.gateway.context.cluster_id
        files = tmp_path / "ckpt" / cluster_id / "tensorboard" / "experiment" / str(made)
        files.mkdir(parents=True)
        (files / "events.out.tfevents").write_text("e")
        path = f"/api/v1/experiments/{made}/tensorboard-files"
        assert (await someone.call("DELETE", path)).status == 403
        assert files.exists()
        for _ in range(2):
            assert (await admin.call("DELETE", path)).body == {}
        assert not files.exists()
        [recorded, _] = [
            one.event for one in await cluster.log.read_all(0) if isinstance(one.event, TensorBoardFilesDeleted)
        ]
        assert recorded == TensorBoardFilesDeleted(made)
        assert (await admin.get(f"/api/v1/experiments/{made}"))["experiment"]["id"] == made
        answer = await admin.call("DELETE", "/api/v1/experiments/999/tensorboard-files")
        assert (answer.status, answer.error) == (404, "experiment 999 not found")
