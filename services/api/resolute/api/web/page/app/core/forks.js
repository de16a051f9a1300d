// What a new experiment begins from. Pure.
import { yaml } from "./format.js";

const SECRET = "********";

/** What one writes to begin with. */
export const FIRST = `name: my experiment
entrypoint: python3 train.py
hyperparameters:
  learning_rate: 0.01
searcher:
  name: single
  metric: validation_loss
  smaller_is_better: true
resources:
  slots_per_trial: 1
`;

/** The configuration of an experiment that goes on where a trial of another has ended: its hyperparameters, and its last checkpoint.
 * @param {Record<string, any>} config as it was submitted @param {{id: number, hparams?: Record<string, any> | null}} trial */
export function fromTrial(config, trial) {
  const { metric, smaller_is_better, max_length } = config.searcher ?? {};
  const searcher = { name: "single", metric, ...(smaller_is_better === undefined ? {} : { smaller_is_better }), ...(max_length === undefined ? {} : { max_length }), source_trial_id: trial.id };
  return yaml({ ...config, name: `${config.name ?? "trial"} from trial ${trial.id}`, hyperparameters: trial.hparams ?? {}, searcher }).trim();
}

/** Whether the owner's secrets would have to be written again by others who fork it. @param {string} text */
export const hidesSecrets = (text) => text.includes(SECRET);
