CREATE TABLE read_webhooks.webhooks (
    id int PRIMARY KEY,
    name text NOT NULL,
    url text NOT NULL,                        -- sealed
    form text NOT NULL,
    mode text NOT NULL,
    triggers jsonb NOT NULL,
    owner_id int NOT NULL,                    -- who made it
    workspace_id int                          -- null for one of the whole cluster
);

CREATE TABLE read_webhooks.deliveries (
    delivery_id text PRIMARY KEY,
    webhook_id int NOT NULL,
    trigger_id int NOT NULL,
    event_type text NOT NULL,
    data jsonb NOT NULL,
    state text NOT NULL,                      -- DUE, DELIVERED or GIVEN_UP
    attempts int NOT NULL,
    status int,                               -- of HTTP, once it is delivered
    why text NOT NULL,                        -- why the last attempt failed
    position bigint NOT NULL,                 -- in the log
    happened_at timestamptz NOT NULL,
    next_at timestamptz,
    ended_at timestamptz
);
CREATE INDEX deliveries_webhook ON read_webhooks.deliveries (webhook_id, position);
