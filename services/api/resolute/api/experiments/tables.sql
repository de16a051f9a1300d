CREATE TABLE read_experiments.experiments (
    id bigint PRIMARY KEY,
    job_id text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    notes text NOT NULL,
    labels text[] NOT NULL,
    owner_id int NOT NULL,
    owner text NOT NULL,
    project_id int NOT NULL,
    searcher_type text NOT NULL,
    searcher_metric text NOT NULL,
    smaller_is_better boolean NOT NULL,
    resource_pool text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    archived boolean NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    parent_id bigint,
    unmanaged boolean NOT NULL,
    external_id text,
    model_definition text,
    log_retention_days int,                   -- of the trials' logs, after their end; null where the cluster decides
    search_progress double precision          -- of a search that reports it
);
CREATE INDEX experiments_started ON read_experiments.experiments (started_at, id);
CREATE INDEX experiments_job ON read_experiments.experiments (job_id);
CREATE INDEX experiments_owner ON read_experiments.experiments (owner);
CREATE INDEX experiments_project ON read_experiments.experiments (project_id);

CREATE TABLE read_experiments.experiment_configs (   -- apart, so that the rows above stay small
    experiment_id bigint PRIMARY KEY,
    config jsonb NOT NULL,
    original_config text NOT NULL
);
