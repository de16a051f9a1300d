CREATE TABLE read_models.models (
    id int PRIMARY KEY,
    name text NOT NULL,
    description text NOT NULL,
    notes text NOT NULL,
    labels text[] NOT NULL,
    metadata jsonb NOT NULL,
    workspace_id int NOT NULL,
    owner_id int NOT NULL,
    archived boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    versions int NOT NULL                     -- how many there are
);
CREATE UNIQUE INDEX models_name ON read_models.models (name);
CREATE INDEX models_id_text ON read_models.models ((id::text));   -- a path names a model by its name or its id

CREATE TABLE read_models.versions (
    model_id int NOT NULL,
    version int NOT NULL,
    id int NOT NULL,
    checkpoint text NOT NULL,                 -- its UUID
    owner_id int NOT NULL,                    -- who registered it
    name text NOT NULL,
    comment text NOT NULL,
    notes text NOT NULL,
    labels text[] NOT NULL,
    metadata jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (model_id, version)
);
CREATE INDEX versions_checkpoint ON read_models.versions (checkpoint);
