// Workspaces and projects: where things lie.
import { change, get } from "../core/client.js";

/** @typedef {import("../wire").v1Workspace} Workspace */
/** @typedef {import("../wire").v1Project} Project */

/** @param {AbortSignal} [aborted] @returns {Promise<Workspace[]>} */
export async function workspaces(aborted) {
  const answer = /** @type {import("../wire").v1GetWorkspacesResponse} */ (await get("/api/v1/workspaces", { limit: -1, sortBy: "SORT_BY_NAME" }, aborted));
  return answer.workspaces;
}

/** @param {number} workspaceId @param {AbortSignal} [aborted] @returns {Promise<Project[]>} */
export async function projectsOf(workspaceId, aborted) {
  const answer = /** @type {import("../wire").v1GetWorkspaceProjectsResponse} */ (await get(`/api/v1/workspaces/${workspaceId}/projects`, { limit: -1, sortBy: "SORT_BY_NAME" }, aborted));
  return answer.projects;
}

/** Those in which something new may lie, as the options of a field. @param {readonly Workspace[]} all @param {number} [but] @returns {[string, string][]} */
export const placesAmong = (all, but) => all.filter((one) => !one.archived && one.id !== but).map((one) => [String(one.id), one.name]);

/** The projects into which experiments may go, each with the name of its workspace. @returns {Promise<[string, string][]>} */
export async function destinations() {
  const open = (await workspaces()).filter((one) => !one.archived).slice(0, 100);
  const projects = (await Promise.all(open.map((one) => projectsOf(one.id)))).flat();
  return projects.filter((one) => !one.archived).map((one) => [String(one.id), `${one.workspaceName ?? open.find((place) => place.id === one.workspaceId)?.name} / ${one.name}`]);
}

/** @param {number[]} experimentIds @param {number} destinationProjectId @returns {Promise<{id: number, error: string}[]>} */
export async function moveExperiments(experimentIds, destinationProjectId) {
  const answer = await change("POST", "/api/v1/projects/-1/experiments/move", { projectId: -1, experimentIds, destinationProjectId });
  return answer.results;
}
