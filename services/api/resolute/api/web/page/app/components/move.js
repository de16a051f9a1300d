// Moving experiments to another project.
import { destinations, moveExperiments } from "../state/places.js";
import { attempt, fill } from "./forms.js";
import { toast } from "./parts.js";

/** @param {number[]} ids */
export async function beginMove(ids) {
  await attempt(async () => {
    const options = await destinations();
    const what = ids.length === 1 ? `experiment ${ids[0]}` : `${ids.length} experiments`;
    fill({
      title: `Move ${what}`,
      action: "Move",
      fields: [{ key: "project", label: "To the project", kind: "select", options }],
      save: async ({ project }) => {
        const results = await moveExperiments(ids, Number(project));
        const failed = results.filter((one) => one.error);
        if (failed.length && failed.length === results.length) throw new Error(failed[0].error);
        toast(`${results.length - failed.length} of ${ids.length} moved${failed.length ? `. Experiment ${failed[0].id}: ${failed[0].error}` : ""}`, { tone: failed.length ? "bad" : "" });
      },
    });
  });
}
