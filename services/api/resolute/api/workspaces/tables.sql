CREATE TABLE read_workspaces.workspaces (
    id int PRIMARY KEY,
    name text NOT NULL,
    owner_id int NOT NULL,
    immutable boolean NOT NULL,
    archived boolean NOT NULL,
    agent_user_group jsonb,
    checkpoint_storage jsonb,
    default_compute_pool text NOT NULL,
    default_aux_pool text NOT NULL
);

CREATE TABLE read_workspaces.projects (
    id int PRIMARY KEY,
    workspace_id int NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    owner_id int NOT NULL,
    immutable boolean NOT NULL,
    archived boolean NOT NULL
);
