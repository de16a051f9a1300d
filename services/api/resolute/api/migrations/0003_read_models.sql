-- The versions of the read model that gateways use, so that the tables of the others can be dropped one day.

CREATE TABLE api.read_models (
    schema text PRIMARY KEY,
    position bigint NOT NULL,        -- where its tables stood when somebody last looked
    used_at timestamptz NOT NULL     -- when a gateway last used them, or they were seen to follow the log
);
