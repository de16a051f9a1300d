CREATE TABLE read_pools.agents (
    agent_id text NOT NULL,
    pool text NOT NULL,       -- an agent has a row for each pool that it ever joined; it is alive in one of them at most
    host text NOT NULL,
    version text NOT NULL,
    enabled boolean NOT NULL,
    draining boolean NOT NULL,
    alive boolean NOT NULL,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (agent_id, pool)
);

CREATE TABLE read_pools.slots (
    agent_id text NOT NULL,
    pool text NOT NULL,
    slot_id int NOT NULL,
    kind text NOT NULL,
    brand text NOT NULL,
    uuid text NOT NULL,
    enabled boolean NOT NULL,
    draining boolean NOT NULL,
    PRIMARY KEY (agent_id, pool, slot_id)
);

CREATE TABLE read_pools.bindings (
    pool text NOT NULL,
    workspace_id int NOT NULL,
    PRIMARY KEY (pool, workspace_id)
);
