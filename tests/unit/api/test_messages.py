"""Messages of the wire: read as they are declared, and written as clients know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, ClassVar, Self

import orjson
import pytest

from resolute.api import wire
from resolute.api.kernel import declared, kinds, reading
from resolute.api.kernel.decoding import Decoded
from resolute.api.kernel.descriptions import description_of, descriptions_of
from resolute.api.kernel.fields import (
    INT64,
    AnyJson,
    Flag,
    Instant,
    JsonObject,
    Needed,
    OrAbsent,
    WireEnum,
    any_text,
    base64,
    items,
    number,
    text,
    whole,
)
from resolute.api.kernel.messages import (
    Bare,
    InBody,
    InPath,
    Input,
    InQuery,
    Message,
    Request,
    Written,
    given_in,
    named_in,
    parts_of,
    unparsed,
)
from resolute.api.request_body import RequestBody
from resolute.proto.errors import InvalidConfig

AT = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)


class Weight(WireEnum, wire_name="testWeight"):
    LIGHT = "WEIGHT_LIGHT"
    HEAVY = "WEIGHT_HEAVY"


class Part(Input, wire_name="testPart"):
    """A part of a thing."""

    part_name: Annotated[str, text(10)] = ""
    """What it is called."""
    size_bytes: Annotated[int, INT64] | None = None


class Thing(Input, wire_name="testThing"):
    name: Needed[Annotated[str, text(10, least=1)]] = "none"
    notes: Annotated[str, any_text(10)] = ""
    count: Annotated[int, whole(least=1, most=9)] = 1
    share: Annotated[float, number(least=0, most=1)] = 0.5
    big: Annotated[int, INT64] = 0
    raw: Annotated[bytes, base64(8)] = b""
    since: Instant = None
    weight: Weight = Weight.LIGHT
    is_new: Flag = False
    parts: Annotated[tuple[Part, ...], items(2)] = ()
    by_name: Annotated[Mapping[str, Part], items(2)] = {}
    config: JsonObject | None = None
    anything: AnyJson = None
    limit: Annotated[int, whole()] | None = 3


class PutThing(Request):
    thing_id: InPath[Annotated[int, whole(least=0)]]
    weights: InQuery[Annotated[tuple[Weight, ...], items(2)]] = ()
    dry_run: InQuery[Flag | None] = None
    body: InBody[Thing]


class Shown(Message, wire_name="testShown"):
    thing: Thing
    ratio: float
    ended_at: datetime | None
    started_at: OrAbsent[datetime] = None
    big_ones: tuple[Annotated[int, INT64], ...] = ()
    sizes: Mapping[str, Annotated[int, INT64]] = {}


def put(document: Any = reading.NOTHING, **query: list[str]) -> PutThing:
    return reading.read(PutThing, {"thingId": "007"}, query, document)


def refusal(document: Any, **query: list[str]) -> str:
    with pytest.raises(InvalidConfig) as refused:
        put(document, **query)
    return refused.value.message


def written(message: Written) -> Any:
    return orjson.loads(wire.dumps(message))


def test_what_a_request_brings_comes_out_as_its_types_say() -> None:
    found = put(
        {
            "name": "a",
            "count": "3",
            "share": "0.25",
            "big": str(2**62),
            "raw": "aGk=",
            "since": "2026-01-31T13:00:00.25+01:00",
            "weight": "heavy",
            "isNew": True,
            "parts": [{"partName": "p", "sizeBytes": 5, "unheard": 1}],
            "byName": {"x": {"sizeBytes": "6"}},
            "config": {"any": ["thing"]},
            "unheard": {"of": 1},
        },
        weights=["1", "WEIGHT_LIGHT", ""],
        dryRun=["true"],
    )
    assert (found.thing_id, found.weights, found.dry_run) == (7, (Weight.HEAVY, Weight.LIGHT), True)
    thing = found.body
    assert (thing.count, thing.share, thing.big, thing.raw) == (3, 0.25, 2**62, b"hi")
    assert (thing.since, thing.weight, thing.is_new) == (AT, Weight.HEAVY, True)
    assert (thing.parts, thing.by_name) == ((Part(part_name="p", size_bytes=5),), {"x": Part(size_bytes=6)})
    assert thing.config == {"any": ["thing"]}


def test_what_is_left_out_or_null_means_the_default_and_a_field_that_may_be_none_tells_them_apart() -> None:
    assert put().body == put({}).body == put({"name": None, "parts": None, "count": None}).body == Thing()
    assert (put({"limit": None}).body.limit, put({}).body.limit) == (None, 3)
    asked = [put(dryRun=[text]).dry_run for text in ("", "null", "0", "TRUE")]
    assert asked == [None, None, False, True]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"name": ""}, "name: expected at least 1 characters; found 0"),
        ({"name": "x" * 11}, "name: expected at most 10 characters; found 11"),
        ({"name": "\0"}, "name: expected text without the character NUL; found '\\x00'"),
        ({"count": 10}, "count: expected a whole number from 1 to 9; found 10"),
        ({"count": True}, "count: expected a whole number from 1 to 9; found True"),
        ({"count": "1_0"}, "count: expected a whole number from 1 to 9; found '1_0'"),
        ({"count": " 3"}, "count: expected a whole number from 1 to 9; found ' 3'"),
        ({"big": 2**63}, f"big: expected a whole number from {-(2**63)} to {2**63 - 1}; found {2**63}"),
        ({"share": float("nan")}, "share: expected a number from 0 to 1; found nan"),
        ({"raw": "aGk"}, "raw: expected base64 text; found 'aGk'"),
        ({"raw": "a" * 9}, "raw: expected at most 8 characters; found 9"),
        ({"since": "noon"}, "since: expected an RFC 3339 instant, such as 2026-01-31T12:00:00Z; found 'noon'"),
        ({"weight": 2}, "weight: expected one of WEIGHT_LIGHT, WEIGHT_HEAVY; found 2"),
        ({"isNew": 1}, "isNew: expected true or false; found 1"),
        ({"parts": {}}, "parts: expected a list; found {}"),
        ({"parts": [{}, {}, {}]}, "parts: expected at most 2 elements; found 3"),
        ({"parts": [{}, {"sizeBytes": "x"}]}, "parts[1].sizeBytes: expected a whole number from"),
        ({"parts": [None]}, "parts[0]: expected an object; found None"),
        ({"byName": {"x": {"partName": 5}}}, "byName.x.partName: expected text; found 5"),
        ({"byName": {"\0": {}}}, "byName: expected text without the character NUL"),
        ({"config": []}, "config: expected an object; found []"),
        ([], "body: expected an object; found []"),
        (None, "body: expected an object; found None"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(body: Any, told: str) -> None:
    assert refusal(body).startswith(told)


def test_parameters_are_named_as_well_and_come_before_the_body() -> None:
    assert refusal([], weights=["1", "x"]).startswith("weights: expected one of WEIGHT_LIGHT")
    assert refusal([], weights=["0"] * 3) == "weights: expected at most 2 elements; found 3"
    assert refusal([], dryRun=["perhaps"]) == "dryRun: expected true or false; found 'perhaps'"
    with pytest.raises(InvalidConfig, match="thingId: expected a whole number from 0 to 2147483647; found 'x'"):
        reading.read(PutThing, {"thingId": "x"}, {}, [])


def test_a_hundred_thousand_wrong_elements_are_one_refusal() -> None:
    class Many(Input):
        numbers: Annotated[tuple[Annotated[int, whole()], ...], items(100_000)] = ()

    class PutMany(Request):
        body: InBody[Many]

    with pytest.raises(InvalidConfig) as refused:
        reading.read(PutMany, {}, {}, {"numbers": ["x"] * 100_000})
    assert refused.value.message.startswith("numbers[0]: expected a whole number")


def test_an_answer_has_the_wires_names_and_forms() -> None:
    thing = Thing(name="a", big=2**62, raw=b"hi", since=AT, weight=Weight.HEAVY, parts=(Part(part_name="p"),))
    shown = Shown(
        thing=thing,
        ratio=float("nan"),
        ended_at=None,
        big_ones=(1, 2**60),
        sizes={"b": 1, "a": 2},
    )
    assert written(shown) == {
        "thing": {
            "name": "a",
            "notes": "",
            "count": 1,
            "share": 0.5,
            "big": str(2**62),
            "raw": "aGk=",
            "since": "2026-01-31T12:00:00.250Z",
            "weight": "WEIGHT_HEAVY",
            "isNew": False,
            "parts": [{"partName": "p", "sizeBytes": None}],
            "byName": {},
            "config": None,
            "anything": None,
            "limit": 3,
        },
        "ratio": "NaN",
        "endedAt": None,
        "bigOnes": ["1", str(2**60)],
        "sizes": {"a": "2", "b": "1"},
    }
    assert list(written(shown)) == sorted(written(shown)), "objects are answered sorted by name"
    assert "startedAt" in written(shown.model_copy(update={"started_at": AT}))


def test_instants_of_any_zone_are_answered_in_utc() -> None:
    elsewhere = AT.astimezone(timezone(timedelta(hours=9)))
    assert written(Shown(thing=Thing(), ratio=1, ended_at=elsewhere))["endedAt"] == "2026-01-31T12:00:00.250Z"


def test_a_body_of_many_objects_is_read_off_the_event_loop_however_short_it_is() -> None:
    assert reading.is_read_at_once(RequestBody(b'{"name": "a", "parts": [{}, {}]}'))
    assert not reading.is_read_at_once(RequestBody(b'{"parts": [' + b"{}," * 5_000 + b"{}]}"))
    assert not reading.is_read_at_once(RequestBody(b'{"name": "' + b"a" * 100_000 + b'"}'))


def test_what_a_request_sets_is_known_for_the_decision_whether_it_may_come_in() -> None:
    path, body = named_in(put({"name": "a", "count": None, "parts": [{"partName": "p"}]}))
    assert (path, body) == ({"thingId": "7"}, {"name": "a", "parts": [{"partName": "p"}]})
    assert given_in(Part(size_bytes=3)) == {"sizeBytes": 3}


def test_a_document_of_the_database_is_shown_as_it_is_stored() -> None:
    assert written(Part.stored({"partName": "longer than today's limit", "other": 1})) == {
        "partName": "longer than today's limit",
        "sizeBytes": None,
    }


def test_a_body_that_an_operation_decodes_itself_is_documented_all_the_same() -> None:
    class Reports(Request):
        body: InBody[Annotated[RequestBody, unparsed(Thing)]]

    raw = RequestBody(b"not even JSON")
    assert reading.read(Reports, {}, {}, raw).body is raw
    assert declared.body_of(Reports) == "testThing"
    assert "testPart" in declared.messages_within([Reports])


@dataclass(frozen=True, slots=True)
class Batch(Decoded):
    """Reads a body as metrics and log lines are read: without a message for each element."""

    documented: ClassVar[Any] = Thing
    names: tuple[str, ...]

    @classmethod
    def decoded(cls, document: Any) -> Self:
        if "parts" not in document:
            raise InvalidConfig("parts[0].partName: expected text")
        return cls(tuple(part["partName"] for part in document["parts"]))

    def named(self) -> Any:
        return {"parts": [{"partName": name} for name in dict.fromkeys(self.names)]}


class PostBatch(Request):
    body: InBody[Batch]


class BareBatch(Batch):
    documented: ClassVar[Any] = Annotated[tuple[Part, ...], items(9)]

    @classmethod
    def decoded(cls, document: Any) -> Self:
        return cls(tuple(part["partName"] for part in document))


class PostBareBatch(Request):
    body: InBody[BareBatch]


async def test_a_body_that_its_class_reads_is_read_before_access_is_decided_and_says_what_it_names() -> None:
    raw = b'{"parts": [{"part_name": "a"}, {"partName": "b"}, {"partName": "a"}]}'
    found = await reading.read_request(PostBatch, {}, {}, RequestBody(raw))
    assert found.body.names == ("a", "b", "a")
    assert named_in(found) == ({}, {"parts": [{"partName": "a"}, {"partName": "b"}]})
    assert PostBatch(body=found.body).body is found.body, "a test may build the request"
    large = b'{"parts": [{"partName": "%s"}]}' % (b"c" * 70_000)
    assert (await reading.read_request(PostBatch, {}, {}, RequestBody(large))).body.names == ("c" * 70_000,)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", r"^parts\[0\].partName: expected text$"),
        (b"[]", "^the body must be a JSON object; found list"),
        (b"{", "^the body is no JSON"),
    ],
)
async def test_what_does_not_fit_a_body_that_its_class_reads_is_refused_in_the_words_of_the_class(
    raw: bytes, said: str
) -> None:
    with pytest.raises(InvalidConfig, match=said):
        await reading.read_request(PostBatch, {}, {}, RequestBody(raw))


async def test_a_body_that_its_class_reads_is_declared_like_any_other() -> None:
    assert declared.body_of(PostBatch) == "testThing"
    assert declared.body_of(PostBareBatch) == "[testPart]<..9>"
    assert {"testThing", "testPart"} <= set(declared.messages_within([PostBatch]))
    assert "testPart" in declared.messages_within([PostBareBatch])
    bare = await reading.read_request(PostBareBatch, {}, {}, RequestBody(b'[{"part_name": "a"}]'))
    assert bare.body.names == ("a",)


def test_a_body_may_be_a_bare_value() -> None:
    class SetName(Request):
        body: InBody[Annotated[str, text(5)]] = ""

    assert reading.read(SetName, {}, {}, "abc").body == "abc"
    assert reading.read(SetName, {}, {}).body == ""
    with pytest.raises(InvalidConfig, match="body: expected text; found None"):
        reading.read(SetName, {}, {}, None)
    with pytest.raises(InvalidConfig, match="body: expected at most 5 characters; found 6"):
        reading.read(SetName, {}, {}, "abcdef")


def test_what_is_declared_can_be_told_in_short() -> None:
    assert declared.query_of(PutThing) == {"weights?": "[testWeight]<..2>", "dryRun?": "bool"}
    assert declared.path_of(PutThing) == {"thingId": "int<0..>"}
    messages = declared.messages_within([PutThing, Shown])
    assert messages["testWeight"] == {"enum": ["WEIGHT_LIGHT", "WEIGHT_HEAVY"]}
    fields = messages["testThing"]["fields"]
    assert (fields["name"], fields["byName?"], fields["big?"]) == ("string<1..10>", "{testPart}<..2>", "string(int64)")
    shown = messages["testShown"]["fields"]
    assert (shown["thing"], shown["endedAt?"], shown["startedAt?"]) == ("testThing", *["string(date-time)"] * 2)
    for kind in fields.values():
        assert kinds.text(kinds.parse(kind)) == kind


def test_what_the_source_says_of_a_message_and_its_fields_is_known() -> None:
    assert description_of(Part) == "A part of a thing."
    assert descriptions_of(Part) == {"partName": "What it is called."}


def test_a_value_that_clients_send_without_a_bound_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match=r"Unbounded.name: a value that clients send needs a range or a length"):

        class Unbounded(Input):
            name: str = ""


def test_a_request_says_where_each_field_is() -> None:
    with pytest.raises(TypeError, match=r"Lost.name: say where the request has it"):

        class Lost(Request):
            name: Annotated[str, text(5)] = ""

    with pytest.raises(TypeError, match="first the fields in the path, then those in the query, then one body"):

        class Backwards(Request):
            limit: InQuery[Annotated[int, whole()]] = 0
            id: InPath[Annotated[int, whole()]] = 0

    assert [one.name for one in parts_of(PutThing).query] == ["weights", "dryRun"]


def test_one_name_of_the_wire_is_one_message() -> None:
    class Other(Message, wire_name="testPart"):
        size_bytes: int

    class Both(Message):
        part: Part
        other: Other

    with pytest.raises(TypeError, match="testPart is declared in two ways"):
        declared.messages_within([Both])


def test_a_message_never_shows_its_values_to_a_traceback() -> None:
    class SignIn(Input):
        password: Annotated[str, text(99)] = ""

    class Answer(Message):
        token: str

    assert "secret" not in f"{SignIn(password='secret')!r} {Answer(token='secret')!r} {SignIn(password='secret')}"


def test_an_answer_that_lacks_a_field_or_has_another_is_a_bug() -> None:
    with pytest.raises(TypeError, match=r"Shown\.__init__\(\) missing .*'ended_at'"):
        Shown(thing=Thing(), ratio=1)  # type: ignore[call-arg]


class Place(Message):
    host: str


class Places(Bare):
    value: tuple[Place, ...]


def test_a_bare_answer_goes_out_and_is_declared_without_an_object_around_it() -> None:
    assert wire.dumps(Places(value=(Place(host="a"), Place(host="b")))) == b'[{"host":"a"},{"host":"b"}]'
    assert wire.dumps(Places(value=())) == b"[]"
    assert declared.messages_within([Places]).keys() == {"Place"}
