"""The public client's model registry: commands and SDK."""

from __future__ import annotations

import csv
import io
import json

from tests.interop.conftest import PublicClient


def test_it_registers_checkpoints_as_versions_of_a_model(public: PublicClient, finished: int) -> None:
    out = public.python(f"""
checkpoint = client.get_experiment({finished}).list_checkpoints(max_results=1)[0]
model = client.create_model("interop", "of people", {{"accuracy": 0.9}})
version = model.register_version(checkpoint.uuid)
version.set_name("first")
version.set_notes("kept")
model.add_metadata({{"by": "ann"}})
model.set_labels(["vision", "small"])
again = client.get_model("interop")
print("found", client.get_model_by_id(model.model_id).name, again.labels, again.metadata)
latest = again.get_version()
print("version", latest.model_version, latest.name, latest.notes, latest.checkpoint.uuid == checkpoint.uuid)
print("versions", len(again.list_versions()), client.get_model_labels())
try:
    checkpoint.delete()
except Exception as error:
    print("refused", "registered as version 1 of model 'interop'" in str(error))
model.archive()
print("archived", client.get_model("interop").archived)
model.unarchive()
print("uuid", checkpoint.uuid)
""")
    lines = dict(line.split(" ", 1) for line in out.splitlines() if " " in line)
    assert lines["found"] == "interop ['vision', 'small'] {'accuracy': 0.9, 'by': 'ann'}"
    assert lines["version"] == "1 first kept True"
    assert lines["versions"].startswith("1 [")
    assert (lines["refused"], lines["archived"]) == ("True", "True")
    assert lines["uuid"] in public.det("model", "describe", "interop")
    assert "interop" in [model["name"] for model in json.loads(public.det("model", "list", "--json"))]


def test_it_makes_lists_and_deletes_models(public: PublicClient, finished: int) -> None:
    assert "made by hand" in public.det("model", "create", "by-hand", "--description", "made by hand")
    assert "by-hand" in public.det("model", "list", "-w", "Uncategorized", "--sort-by", "name", "--order-by", "desc")
    [checkpoint, *_] = csv.DictReader(io.StringIO(public.det("experiment", "list-checkpoints", str(finished), "--csv")))
    uuid = checkpoint["UUID"]
    assert uuid in public.det("model", "register-version", "by-hand", uuid)
    assert uuid in public.det("model", "list-versions", "by-hand")
    public.det("model", "delete", "by-hand")
    assert "by-hand" not in public.det("model", "list")
