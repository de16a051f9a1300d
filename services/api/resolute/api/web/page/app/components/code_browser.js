// The code that an experiment was submitted with: its files as text, and as downloads.
import { html } from "../core/dom.js";
import { address, get, send } from "../core/client.js";
import { bytes } from "../core/format.js";
import { listed, SHOWN_BYTES_MOST, textOf } from "../core/context.js";
import { useLoaded } from "../core/load.js";
import { query } from "../core/place.js";
import { Busy, Command, Empty, Failed, Message } from "./parts.js";

/** @param {{experiment: import("../wire").v1Experiment}} props */
export function CodeBrowser({ experiment }) {
  const { id } = experiment;
  const none = !Number(experiment.modelDefinitionSize ?? 0);
  const { value, error, again } = useLoaded(async (aborted) => (none ? [] : listed(/** @type {import("../wire").v1GetModelDefTreeResponse} */ (await get(`/api/v1/experiments/${id}/file_tree`, {}, aborted)).files ?? [])), [id, none]);
  if (!value) return error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading the files" />`;
  const files = value.filter((one) => !one.folder);
  if (files.length === 0) return html`<${Empty} title="No code was submitted">Without a context directory, the entrypoint runs what is in the image, or in what it mounts.<//>`;
  const wanted = query.value.get("file") ?? "";
  const open = files.find((one) => one.path === wanted) ?? files.find((one) => one.depth === 0 && one.size <= SHOWN_BYTES_MOST) ?? files[0];
  return html`<div class="row apart"><span class="muted numbers">${files.length === 1 ? "1 file" : `${files.length.toLocaleString("en")} files`}, ${bytes(files.reduce((sum, one) => sum + one.size, 0))}; the archive has ${bytes(experiment.modelDefinitionSize)}</span><a class="button" href=${`/experiments/${id}/model_def`} download>Download all</a></div>
    <div class="code-browser"><nav class="card" aria-label="Files"><ul class="files">${value.slice(0, 5000).map((one) => html`<li key=${one.path} style=${{ paddingLeft: `${one.depth * 16}px` }}>${one.folder ? html`<span class="muted">${one.name}/</span>` : html`<a href=${address(location.pathname, { file: one.path })} aria-current=${one === open ? "page" : undefined} title=${one.path}>${one.name}</a>`}</li>`)}</ul>${value.length > 5000 ? html`<p class="small muted">${(value.length - 5000).toLocaleString("en")} more are in the archive.</p>` : null}</nav>
      <${OneFile} key=${open.path} id=${id} file=${open} /></div>
    <${Command} text=${`det experiment download-model-def ${id}`} />`;
}

/** @param {{id: number, file: import("../core/context.js").Entry}} props */
function OneFile({ id, file }) {
  const path = `/experiments/${id}/file/download`;
  const large = file.size > SHOWN_BYTES_MOST;
  const { value, error, again } = useLoaded(async (aborted) => (large ? { text: null } : { text: textOf(new Uint8Array(await (await send("GET", path, { query: { path: file.path }, signal: aborted })).arrayBuffer())) }), [path, file.path]);
  return html`<section class="card stack tight grow"><div class="row apart"><h2 class="wrap mono">${file.path}</h2><div class="row"><span class="small muted numbers">${bytes(file.size)}</span><a class="button" href=${address(path, { path: file.path })} download>Download</a></div></div>
    ${!value ? error ? html`<${Failed} error=${error} retry=${again} />` : html`<${Busy} what="Reading the file" />`
      : large ? html`<${Message}>Files of more than ${bytes(SHOWN_BYTES_MOST)} are not shown here: download it.<//>`
        : value.text === null ? html`<${Message}>This is no text: download it.<//>`
          : value.text === "" ? html`<p class="muted">The file is empty.</p>` : html`<pre class="code plain-text" tabindex="0" aria-label=${`Content of ${file.path}`}>${value.text}</pre>`}</section>`;
}
