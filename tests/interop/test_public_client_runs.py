"""The public client's bindings search runs and act on many of them."""

from __future__ import annotations

from tests.interop.conftest import PublicClient

SCRIPT = """
import json
from determined.common.api import bindings as b

session = client._determined._session
field = {{"kind": "field", "columnName": "experimentId", "operator": "=", "value": {experiment}}}
wanted = json.dumps({{"filterGroup": {{"kind": "group", "conjunction": "and", "children": [field]}}}})
found = b.post_SearchRuns(session, body=b.v1SearchRunsRequest(filter=wanted, sort="searcherMetricsVal=asc,id=desc"))
[run] = found.runs
print("run", found.pagination.total, run.experiment.id, run.state.value, run.experiment.searcherType)
print("metrics", sorted(run.summaryMetrics))
named = json.dumps({{"filterGroup": {{"kind": "group", "conjunction": "and",
                                     "children": [{{**field, "columnName": "id"}}]}}}})
searches = b.post_SearchExperiments(session, body=b.v1SearchExperimentsRequest(filter=named))
[search] = searches.experiments
print("search", search.experiment.id, search.bestTrial.id == run.id)
for table in b.v1TableType:
    columns = b.get_GetProjectColumns(session, id=1, tableType=table).columns
    print("columns", "id" in [one.column for one in columns])
ranges = b.get_GetProjectNumericMetricsRange(session, id=1).ranges
print("ranges", "searcherMetricsVal" in [one.metricsName for one in ranges])
print("values", b.get_GetMetadataValues(session, projectId=1, key="note").values)
ids = [run.id, 987654]
for verb, ask in (("Pause", b.post_PauseRuns), ("Resume", b.post_ResumeRuns), ("Kill", b.post_KillRuns)):
    asked = getattr(b, f"v1{{verb}}RunsRequest")(projectId=1, runIds=ids)
    print(verb, {{one.id: one.error for one in ask(session, body=asked).results}}[987654])
shown = b.v1SearchRunsRequest(filter=json.dumps({{**json.loads(wanted), "showArchived": True}}))
for verb, ask in (("Archive", b.post_ArchiveRuns), ("Unarchive", b.post_UnarchiveRuns)):
    asked = getattr(b, f"v1{{verb}}RunsRequest")(projectId=1, runIds=[run.id])
    answered = [one.error for one in ask(session, body=asked).results]
    print(verb, answered, b.post_SearchRuns(session, body=shown).runs[0].archived)
move = b.v1MoveRunsRequest(sourceProjectId=1, destinationProjectId=1, runIds=ids)
print("Move", sorted((one.id, one.error) for one in b.post_MoveRuns(session, body=move).results)[0][1] == "")
"""


def test_its_bindings_decode_what_searches_of_runs_and_actions_on_them_answer(
    public: PublicClient, finished: int
) -> None:
    lines = public.python(SCRIPT.format(experiment=finished)).splitlines()
    told = dict(line.split(" ", 1) for line in lines)
    assert told["run"] == f"1 {finished} STATE_COMPLETED single"
    assert "validation_metrics" in told["metrics"]
    assert told["search"] == f"{finished} True"
    assert (told["columns"], told["ranges"], told["values"], told["Move"]) == ("True", "True", "[]", "True")
    assert (told["Archive"], told["Unarchive"]) == ("[''] True", "[''] False")
    missing = "Run with id '987654' not found in project with id '1'"
    assert {told[verb] for verb in ("Pause", "Resume", "Kill")} == {missing}
