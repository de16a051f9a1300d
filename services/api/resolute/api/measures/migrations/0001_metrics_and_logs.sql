-- Measurements. Partitioned by owner, since retention is per experiment: what is read or dropped together lies
-- together, and no partition is ever made while somebody waits for it.

CREATE SCHEMA IF NOT EXISTS measures;

CREATE TABLE measures.metrics (
    id bigint GENERATED ALWAYS AS IDENTITY,
    trial_id bigint NOT NULL,
    run_id int NOT NULL,
    kind text NOT NULL,              -- training, validation, or any other group
    steps int NOT NULL,              -- cumulative batches; for system metrics the second they were taken
    metrics jsonb NOT NULL,          -- name to value, averaged over the batches since the last report
    batch_metrics jsonb,
    reported_at timestamptz NOT NULL,
    PRIMARY KEY (trial_id, kind, steps, run_id)
) PARTITION BY HASH (trial_id);

CREATE TABLE measures.task_logs (
    id bigint GENERATED ALWAYS AS IDENTITY,
    task_id text NOT NULL,
    allocation_id text NOT NULL,
    container_id text NOT NULL,
    rank int NOT NULL,
    sequence bigint NOT NULL,
    at timestamptz NOT NULL,
    level text NOT NULL,
    stdtype text NOT NULL,
    source text NOT NULL,
    agent_id text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (task_id, allocation_id, container_id, rank, sequence)
) PARTITION BY HASH (task_id);

DO $$
BEGIN
    FOR i IN 0..7 LOOP
        EXECUTE format('CREATE TABLE measures.metrics_%s PARTITION OF measures.metrics '
                       'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);
        EXECUTE format('CREATE TABLE measures.task_logs_%s PARTITION OF measures.task_logs '
                       'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);
    END LOOP;
END $$;

CREATE INDEX task_logs_in_order ON measures.task_logs (task_id, id);

-- What a trial says of itself that is neither decision nor metric: the newest value only.
CREATE TABLE measures.trial_notes (
    trial_id bigint PRIMARY KEY,
    progress double precision,
    runner_state text,
    metadata jsonb
);

-- Gathered by the peers of an allocation (all-gather): gone with the allocation.
CREATE TABLE measures.gathered (
    allocation_id text NOT NULL,
    request_uuid text NOT NULL,
    data jsonb NOT NULL,
    arrived bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (allocation_id, request_uuid)
);

CREATE TABLE measures.accelerators (
    allocation_id text NOT NULL,
    container_id text NOT NULL,
    task_id text NOT NULL,
    node_name text NOT NULL,
    accelerator_type text NOT NULL,
    uuids jsonb NOT NULL,
    PRIMARY KEY (allocation_id, container_id)
);
