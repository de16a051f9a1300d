"""The messages about configuration templates."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import JsonObject, Needed, WireEnum, items, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

Ids = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(1000)]


class Template(Input, wire_name="v1Template"):
    name: Needed[Name] = ""
    """In requests: the name in the path counts."""
    config: Needed[JsonObject | None] = None
    """A part of a configuration. What is wrong in it is refused when it is used. Secrets are shown as ********, which
    stands for the secret that is there when it is sent back."""
    workspace_id: Needed[Id] = 0
    """In requests 0 is the workspace Uncategorized."""


class SortTemplatesBy(WireEnum, wire_name="v1GetTemplatesRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    NAME = "SORT_BY_NAME"


class GetTemplates(Request):
    limit: InQuery[Limit] = 0
    name: InQuery[Name] = ""
    """A part of it, in any case of letters."""
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortTemplatesBy] = SortTemplatesBy.UNSPECIFIED
    workspace_ids: InQuery[Ids] = ()


class TemplatesAnswer(Message, wire_name="v1GetTemplatesResponse"):
    templates: tuple[Template, ...]
    pagination: Pagination


class OneTemplate(Request):
    template_name: InPath[Name]


class TemplateAnswer(Message, wire_name="v1GetTemplateResponse"):
    template: Template


class NewTemplate(Request):
    template_name: InPath[Name]
    body: InBody[Template]


class NewTemplateAnswer(TemplateAnswer, wire_name="v1PostTemplateResponse"):
    pass


class PutTemplateAnswer(TemplateAnswer, wire_name="v1PutTemplateResponse"):
    pass


class PatchTemplateConfig(Request):
    template_name: InPath[Name]
    body: InBody[JsonObject]


class ChangedTemplateAnswer(TemplateAnswer, wire_name="v1PatchTemplateConfigResponse"):
    pass


class Renaming(Input, wire_name="v1PatchTemplateNameRequest"):
    old_name: Needed[Name] = ""
    new_name: Needed[Name] = ""
    """1 to 255 characters without a slash. No two templates have the same."""


class PatchTemplateName(Request):
    body: InBody[Renaming]


class RenamedTemplateAnswer(TemplateAnswer, wire_name="v1PatchTemplateNameResponse"):
    pass
