CREATE TABLE read_templates.templates (
    id int PRIMARY KEY,
    name text NOT NULL,
    workspace_id int NOT NULL,
    owner_id int NOT NULL,
    config jsonb NOT NULL                     -- its secrets are sealed
);
CREATE INDEX templates_name ON read_templates.templates (name);
