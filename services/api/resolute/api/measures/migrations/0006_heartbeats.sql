-- When the process of a trial that runs outside of the cluster was last heard of. Only that it stayed away is a fact of the
-- log.

CREATE TABLE measures.heartbeats (
    trial_id bigint PRIMARY KEY,
    at timestamptz NOT NULL
);
