"""Configuration templates. What is wrong in one is refused when a submission is built on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.api.body_kinds import CONFIGURATION
from resolute.api.call import Call
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.routing import SIGNED_IN
from resolute.api.scope import Scope
from resolute.api.templates import messages as m
from resolute.api.templates.queries import QUERIES, TemplateQueries, TemplateRow
from resolute.api.vault import Keys, only_variables
from resolute.config import changed, secrets_of
from resolute.proto import templates as proto
from resolute.proto.errors import InvalidConfig, NotFound

FIRST_WORKSPACE = 1
"""Where templates are that name no workspace: the workspace Uncategorized."""


async def get_templates(call: Call, request: m.GetTemplates) -> m.TemplatesAnswer:
    """The templates, by name."""
    found = await _queries(call).templates(
        call.scope,
        request.name,
        request.workspace_ids,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )
    keys = await call.gateway.vault.keys(value for row in found.rows for _, value in secrets_of(row.config))
    templates = tuple(_shown(row, keys) for row in found.rows)
    return m.TemplatesAnswer(templates=templates, pagination=Pagination.of(found.page))


async def get_template(call: Call, request: m.OneTemplate) -> m.TemplateAnswer:
    """One template."""
    return m.TemplateAnswer(template=await _answered(call, request.template_name))


async def post_template(call: Call, request: m.NewTemplate) -> m.NewTemplateAnswer:
    """Make a template. Its configuration is checked when a submission is built on it."""
    await _create(call, request.template_name, request.body)
    return m.NewTemplateAnswer(template=await _answered(call, request.template_name))


async def put_template(call: Call, request: m.NewTemplate) -> m.PutTemplateAnswer:
    """Make a template, or replace the configuration of the one that has this name, which stays in its workspace."""
    row = await _queries(call).template(request.template_name)
    if row is None:
        await _create(call, request.template_name, request.body)
    else:
        _check_within(call.scope_of("template.edit"), row)
        if request.body.workspace_id not in (0, row.workspace_id):
            raise InvalidConfig(
                f"workspaceId: expected {row.workspace_id}, where template {row.name!r} is, or 0; found "
                f"{request.body.workspace_id}"
            )
        await _replace(call, row, _config(request.body.config))
    return m.PutTemplateAnswer(template=await _answered(call, request.template_name))


async def patch_template_config(call: Call, request: m.PatchTemplateConfig) -> m.ChangedTemplateAnswer:
    """Replace the configuration of a template: the body is the whole of the new one."""
    await _replace(call, await _template(call, request.template_name), request.body)
    return m.ChangedTemplateAnswer(template=await _answered(call, request.template_name))


async def patch_template_name(call: Call, request: m.PatchTemplateName) -> m.RenamedTemplateAnswer:
    """Rename a template."""
    row = await _template(call, request.body.old_name)
    await call.send(proto.RenameTemplate(row.id, request.body.new_name))
    return m.RenamedTemplateAnswer(template=await _answered(call, request.body.new_name))


async def delete_template(call: Call, request: m.OneTemplate) -> Empty:
    """Delete a template. Experiments that were built on it keep their configurations."""
    row = await _template(call, request.template_name)
    await call.send(proto.DeleteTemplate(row.id))
    await call.gateway.vault.forget_replaced(row.config, {})
    return Empty()


# ---------------------------------------------------------------- changes


async def _create(call: Call, name: str, new: m.Template) -> None:
    workspace_id = new.workspace_id or FIRST_WORKSPACE
    await call.check_visible("workspace", str(workspace_id))
    vault, owner_id = call.gateway.vault, call.principal.user_id
    if not await _queries(call).has_workspace(workspace_id):
        raise NotFound(f"workspaceId: workspace {workspace_id} not found")
    sealed = await vault.sealed(_config(new.config), "", owner_id, {})
    async with vault.unless_refused(sealed):
        await call.send(proto.CreateTemplate(name, workspace_id, owner_id, sealed.config))


def _config(given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if given is None:
        raise InvalidConfig("config: expected an object, a part of a configuration; it is missing")
    return given


async def _replace(call: Call, row: TemplateRow, config: Mapping[str, Any]) -> None:
    """A mask in the new configuration stands for the secret that the old one has there."""
    vault = call.gateway.vault
    before, _ = await vault.opened(row.config)
    sealed = await vault.sealed(config, "", call.principal.user_id, dict(secrets_of(before)))
    async with vault.unless_refused(sealed):
        await call.send(proto.ReplaceTemplateConfig(row.id, sealed.config))
    # A request that is repeated is carried out once: then the template may still have what this call read at first.
    now = await _queries(call).template(row.name)
    await vault.forget_replaced(row.config, {} if now is None else now.config)


# ---------------------------------------------------------------- answers


def _queries(call: Call) -> TemplateQueries:
    return call.gateway.ports.of(QUERIES)


async def _template(call: Call, name: str) -> TemplateRow:
    """Raises NotFound."""
    row = await _queries(call).template(name)
    if row is None:
        raise NotFound(f"template {name!r} not found")
    return row


def _check_within(scope: Scope, row: TemplateRow) -> None:
    """Raises NotFound for a template that lies outside of where the caller may do this."""
    if not scope.covers(row.workspace_id):
        raise NotFound(f"template {row.name!r} not found")


async def _answered(call: Call, name: str) -> m.Template:
    row = await _template(call, name)
    return _shown(row, await call.gateway.vault.keys(value for _, value in secrets_of(row.config)))


def _shown(row: TemplateRow, keys: Keys) -> m.Template:
    """Environment variables are shown, other secrets are masked."""
    config = changed(row.config, only_variables(keys.opened))
    return m.Template(name=row.name, workspace_id=row.workspace_id, config=config)


TAG = "Templates"

TEMPLATES = "/api/v1/templates"
TEMPLATE = "/api/v1/templates/{templateName}"

ROUTES = (
    operation(
        "GetTemplates",
        "GET",
        TEMPLATES,
        get_templates,
        SIGNED_IN.to("template.view").over_scope(),
        request=m.GetTemplates,
        response=m.TemplatesAnswer,
        tag=TAG,
    ),
    operation(
        "GetTemplate",
        "GET",
        TEMPLATE,
        get_template,
        SIGNED_IN.to("template.view").about("template", "templateName"),
        request=m.OneTemplate,
        response=m.TemplateAnswer,
        tag=TAG,
    ),
    operation(
        "PostTemplate",
        "POST",
        TEMPLATE,
        post_template,
        SIGNED_IN.to("template.create").over_scope().about("workspace", "body.workspaceId", optional=True),
        request=m.NewTemplate,
        response=m.NewTemplateAnswer,
        tag=TAG,
        body=CONFIGURATION,
    ),
    operation(
        "PutTemplate",
        "PUT",
        TEMPLATE,
        put_template,
        SIGNED_IN.to("template.create")
        .over_scope()
        .about("workspace", "body.workspaceId", optional=True)
        .showing("template.edit"),
        request=m.NewTemplate,
        response=m.PutTemplateAnswer,
        tag=TAG,
        body=CONFIGURATION,
    ),
    operation(
        "PatchTemplateConfig",
        "PATCH",
        TEMPLATE,
        patch_template_config,
        SIGNED_IN.to("template.edit").about("template", "templateName"),
        request=m.PatchTemplateConfig,
        response=m.ChangedTemplateAnswer,
        tag=TAG,
        body=CONFIGURATION,
    ),
    operation(
        "PatchTemplateName",
        "PATCH",
        "/api/v1/template/rename",
        patch_template_name,
        SIGNED_IN.to("template.edit").about("template", "body.oldName"),
        request=m.PatchTemplateName,
        response=m.RenamedTemplateAnswer,
        tag=TAG,
    ),
    operation(
        "DeleteTemplate",
        "DELETE",
        TEMPLATE,
        delete_template,
        SIGNED_IN.to("template.delete").about("template", "templateName"),
        request=m.OneTemplate,
        response=Empty,
        tag=TAG,
    ),
)
