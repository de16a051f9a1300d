"""What can be asked about templates: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import pytest

from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.templates.memory import MemoryTemplates
from resolute.api.templates.projection import TEMPLATES, Template
from resolute.api.templates.queries import PostgresTemplates, TemplateQueries, TemplateRow
from resolute.api.workspaces.projection import WORKSPACES, Workspace
from tests.contract.queries.filled import in_memory, in_postgres

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    WORKSPACES: (Workspace(1, "Uncategorized", 1, True), Workspace(2, "vision", 2, False)),
    TEMPLATES: (
        Template(1, "small", 1, 2, {"max_restarts": 1}),
        Template(2, "Large_", 2, 2, {}),
        Template(3, "all%", 2, 1, {"name": "x"}),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[TemplateQueries]:
    if database is None:
        yield MemoryTemplates(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresTemplates(await in_postgres(pool, ROWS))


async def ids(
    queries: TemplateQueries,
    part: str = "",
    workspaces: tuple[int, ...] = (),
    scope: Scope = UNLIMITED,
    *,
    descending: bool = False,
) -> list[int]:
    found = await queries.templates(scope, part, workspaces, descending=descending, window=Window())
    assert found.page.total == len(found.rows)
    return [row.id for row in found.rows]


async def test_templates_are_listed_by_name_and_found_by_a_part_of_it(queries: TemplateQueries) -> None:
    assert await ids(queries) == [2, 3, 1]
    assert await ids(queries, descending=True) == [1, 3, 2]
    assert await ids(queries, "LARGE_") == [2]
    assert await ids(queries, "%") == [3]


async def test_templates_are_narrowed_to_workspaces_and_to_the_scope(queries: TemplateQueries) -> None:
    assert await ids(queries, workspaces=(2,)) == [2, 3]
    assert await ids(queries, scope=Scope(frozenset({1}))) == [1]
    assert await ids(queries, workspaces=(2,), scope=Scope(frozenset({1}))) == []
    page = await queries.templates(UNLIMITED, "", (), descending=False, window=Window(1, 1))
    assert ([row.id for row in page.rows], page.page.total) == ([3], 3)


async def test_a_template_is_found_by_its_whole_name_with_case(queries: TemplateQueries) -> None:
    assert await queries.template("small") == TemplateRow(1, "small", 1, {"max_restarts": 1})
    assert await queries.template("Small") is None
    assert (await queries.has_workspace(2), await queries.has_workspace(9)) == (True, False)
