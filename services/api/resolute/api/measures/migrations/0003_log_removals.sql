-- Logs and metrics that are being removed, step by step. A row is there until all of its task's are gone and the log of
-- events says so.
CREATE TABLE measures.removals (
    task_id text PRIMARY KEY,
    removal_id uuid NOT NULL DEFAULT gen_random_uuid(),
    trial_id bigint NOT NULL,
    experiment_id bigint NOT NULL,
    retention_days int,              -- null: the experiment was deleted, and the trial's metrics go, too
    lines bigint NOT NULL DEFAULT 0  -- removed so far
);
