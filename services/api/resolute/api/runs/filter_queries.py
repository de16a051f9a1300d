"""Filters and orders as SQL. Every value is a parameter; names of columns come from `column_queries.py` alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from resolute.api.kernel.listing import Where, pattern
from resolute.api.runs.column_queries import OF_RUNS, OF_SEARCHES, Sql
from resolute.api.runs.filters import (
    EMPTINESS,
    Column,
    Condition,
    Filter,
    Fixed,
    Hyperparameter,
    Kind,
    Metadata,
    Metric,
    Operator,
    Order,
    Statistic,
    Value,
    Wanted,
)
from resolute.api.scope import Scope

INT64 = 2**63

COMPARISONS = {
    Operator.EQUAL: "=",
    Operator.UNEQUAL: "<>",
    Operator.LESS: "<",
    Operator.AT_MOST: "<=",
    Operator.MORE: ">",
    Operator.AT_LEAST: ">=",
}

NEGATIVE = {Operator.UNEQUAL: Operator.EQUAL, Operator.LACKS: Operator.CONTAINS}
"""By operator: the one that must hold for none of the values that a configuration lists."""

# What is compared with a value of the document `d`: nothing where it is of another kind.
DOCUMENTS: Mapping[Kind, str] = {
    Kind.TEXT: "CASE WHEN jsonb_typeof({d}) IN ('string', 'boolean') THEN {d} #>> '{{}}' END",
    Kind.NUMBER: "CASE WHEN jsonb_typeof({d}) = 'number' THEN ({d})::double precision END",
    Kind.BOOLEAN: "CASE WHEN jsonb_typeof({d}) = 'boolean' THEN ({d})::boolean END",
    Kind.DATE: "measures.instant_of({d})",
}
EMPTY_DOCUMENT = "({d} IS NULL OR {d} IN ('null'::jsonb, '\"\"'::jsonb, '[]'::jsonb))"

# What a hyperparameter of a configuration may become: its value, the choices, or the ends of the range.
CHOICES = """CASE WHEN jsonb_typeof({d}) <> 'object' THEN jsonb_build_array({d})
    WHEN {d} -> 'type' = '"const"' THEN jsonb_build_array({d} -> 'val')
    WHEN {d} -> 'type' = '"categorical"' THEN {d} -> 'vals'
    WHEN {d} ->> 'type' IN ('int', 'double', 'log') THEN jsonb_build_array({d} -> 'minval', {d} -> 'maxval')
    ELSE '[]' END"""
CONSTANT = "(CASE WHEN {d} -> 'type' = '\"const\"' THEN {d} -> 'val' END)"
"""What sorts searches by a hyperparameter: where it is searched for, it has no one value."""
SORTED = "CASE WHEN jsonb_typeof({d}) IN ('string', 'number', 'boolean') THEN {d} END"
IS_RANGE = "({d} ->> 'type' IN ('int', 'double', 'log'))"


@dataclass(frozen=True, slots=True)
class Table:
    """What is listed."""

    columns: Mapping[str, Sql]
    source: str
    key: str
    trial: str
    """The trial whose metrics count."""
    hyperparameters: str


RUNS = Table(
    OF_RUNS,
    """FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_trials.standings d ON d.experiment_id = e.id""",
    key="t.id",
    trial="t.id",
    hyperparameters="t.hparams",
)
SEARCHES = Table(
    OF_SEARCHES,
    """FROM read_experiments.experiments e
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_trials.standings d ON d.experiment_id = e.id
LEFT JOIN read_experiments.experiment_configs h ON h.experiment_id = e.id""",
    key="e.id",
    trial="d.best_trial_id",
    hyperparameters="h.config -> 'hyperparameters'",
)


@dataclass(slots=True)
class Statement:
    """One SELECT that grows: its joins, its conditions and its parameters."""

    table: Table
    where: Where
    joins: dict[str, None] = field(default_factory=dict)
    metrics: dict[tuple[str, str], str] = field(default_factory=dict)
    """The name of the join of each metric."""

    @property
    def source(self) -> str:
        return " ".join([self.table.source, *self.joins])

    def argument(self, value: Any, type_: str) -> str:
        self.where.args.append(value)
        return f"${len(self.where.args)}::{type_}"

    def metric(self, group: str, name: str) -> str:
        if (group, name) not in self.metrics:
            alias = f"m{len(self.metrics) + 1}"
            kind, named = self.argument(group, "text"), self.argument(name, "text")
            self.joins[
                f"LEFT JOIN measures.summaries {alias} ON {alias}.trial_id = {self.table.trial}"
                f" AND {alias}.kind = {kind} AND {alias}.name = {named}"
            ] = None
            self.metrics[group, name] = alias
        return self.metrics[group, name]

    def fixed(self, column: Fixed) -> Sql:
        sql = self.table.columns[column.name]
        self._join(sql.join)
        return sql

    def order_of(self, column: Column) -> str:
        """What sorts by this column."""
        match column:
            case Fixed():
                sql = self.fixed(column)
                self._join(sql.order_join)
                return sql.order or sql.value
            case Metric(statistic=statistic):
                return f"{self.metric(column.group, column.name)}.{statistic}"
            case Hyperparameter() | Metadata():
                document = self.document(column)
                return SORTED.format(d=CONSTANT.format(d=document) if self.table is SEARCHES else document)

    def document(self, column: Hyperparameter | Metadata) -> str:
        whole = self.table.hyperparameters if isinstance(column, Hyperparameter) else "t.metadata"
        if len(column.path) == 1:
            return f"({whole} -> {self.argument(column.path[0], 'text')})"
        return f"({whole} #> {self.argument(list(column.path), 'text[]')})"

    def _join(self, join: str) -> None:
        if join:
            self.joins[join] = None


def statement(scope: Scope, table: Table, wanted: Wanted, project_id: int) -> Statement:
    """What selects the rows that are wanted."""
    made = Statement(table, Where(scope, "p.workspace_id"))
    if project_id:
        made.where.add("e.project_id = ?", project_id)
    if not wanted.archived_too:
        made.where.plain(f"NOT {table.columns['archived'].value}")
    made.where.plain(condition(made, wanted.filter))
    return made


def condition(made: Statement, part: Filter) -> str:
    if isinstance(part, Condition):
        return f"({CONDITIONS[type(part.column)](made, part)})"
    if not part.parts:
        return "true"
    return f"({(' AND ' if part.every else ' OR ').join(condition(made, one) for one in part.parts)})"


def _fixed(made: Statement, one: Condition) -> str:
    assert isinstance(one.column, Fixed)
    sql = made.fixed(one.column)
    plainly = sql.plainly and one.operator is Operator.EQUAL and one.value not in sql.not_plain
    return _compared(made, sql.plainly if plainly else sql.value, one.column.kind, one)


def _metric(made: Statement, one: Condition) -> str:
    column = one.column
    assert isinstance(column, Metric)
    alias = made.metric(column.group, column.name)
    number, words = f"{alias}.{column.statistic}", f"{alias}.last_text"
    if one.operator in EMPTINESS:
        text = f"coalesce({words}, '') = ''" if column.statistic is Statistic.LAST else "true"
        empty = f"{number} IS NULL AND {text}"
        return empty if one.operator is Operator.EMPTY else f"NOT ({empty})"
    return _compared(made, number if column.kind is Kind.NUMBER else words, column.kind, one, any_case=False)


def _hyperparameter(made: Statement, one: Condition) -> str:
    assert isinstance(one.column, Hyperparameter)
    document = made.document(one.column)
    if made.table is RUNS or one.operator in EMPTINESS:
        return _of_document(made, document, one)
    positive = NEGATIVE.get(one.operator, one.operator)
    asked = Condition(one.column, positive, one.value)
    some = f"EXISTS (SELECT FROM jsonb_array_elements({CHOICES.format(d=document)}) c WHERE {{}})"
    if positive is one.operator:
        return some.format(_of_document(made, "c", asked))
    of_range = f"{IS_RANGE.format(d=document)} AND {some.format(_of_document(made, 'c', one))}"
    of_others = f"{IS_RANGE.format(d=document)} IS NOT TRUE AND NOT {some.format(_of_document(made, 'c', asked))}"
    return f"{document} IS NOT NULL AND ({of_range} OR {of_others})"


def _metadata(made: Statement, one: Condition) -> str:
    assert isinstance(one.column, Metadata)
    return _of_document(made, made.document(one.column), one)


def _of_document(made: Statement, document: str, one: Condition) -> str:
    if one.operator in EMPTINESS:
        empty = EMPTY_DOCUMENT.format(d=document)
        return empty if one.operator is Operator.EMPTY else f"NOT {empty}"
    kind = one.column.kind
    value = DOCUMENTS[kind].format(d=document)
    if one.operator in NEGATIVE:  # a value of another kind is unequal; one that is missing is not
        return f"{document} IS NOT NULL AND ({_compared(made, value, kind, one)}) IS NOT FALSE"
    if kind is Kind.NUMBER:  # numbers of documents are compared as they are, in half the time
        number = made.argument(orjson.dumps(one.value).decode(), "jsonb")
        return f"jsonb_typeof({document}) = 'number' AND {document} {COMPARISONS[one.operator]} {number}"
    return _compared(made, value, kind, one)


CONDITIONS: Mapping[type[Column], Callable[[Statement, Condition], str]] = {
    Fixed: _fixed,
    Metric: _metric,
    Hyperparameter: _hyperparameter,
    Metadata: _metadata,
}


def _compared(made: Statement, sql: str, kind: Kind, one: Condition, *, any_case: bool = True) -> str:
    if one.operator in EMPTINESS:
        if kind is Kind.TEXT:
            sql = f"NULLIF({sql}, '')"
        return f"({sql}) IS {'' if one.operator is Operator.EMPTY else 'NOT '}NULL"
    assert one.value is not None, "only the others have no value"
    if one.operator in COMPARISONS:
        return f"({sql}) {COMPARISONS[one.operator]} {_argument(made, one.value)}"
    lacks = "NOT " if one.operator is Operator.LACKS else ""
    if any_case:
        return f"{lacks}({sql}) ILIKE {made.argument(pattern(str(one.value)), 'text')}"
    return f"{lacks}strpos({sql}, {made.argument(one.value, 'text')}) > 0"


def _argument(made: Statement, value: Value) -> str:
    """A whole number as one, so that indexes of whole numbers can be used."""
    match value:
        case bool():
            return made.argument(value, "boolean")
        case float() if value.is_integer() and abs(value) < INT64:
            return made.argument(int(value), "bigint")
        case float():
            return made.argument(value, "double precision")
        case datetime():
            return made.argument(value, "timestamptz")
        case str():
            return made.argument(value, "text")


def ordering(made: Statement, orders: Sequence[Order]) -> str:
    """Rows without a value come last, in either direction; where all else is equal, rows are in the order of ids."""
    by = [f"{made.order_of(one.column)} {'DESC' if one.descending else 'ASC'} NULLS LAST" for one in orders]
    if not any(isinstance(one.column, Fixed) and one.column.name == "id" for one in orders):
        by.append(f"{made.table.key} ASC")
    elif len(orders) == 1:  # never null, and so the index of the key serves either direction
        return f" ORDER BY {made.table.key} {'DESC' if orders[0].descending else 'ASC'}"
    return f" ORDER BY {', '.join(by)}"
