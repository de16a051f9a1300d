-- Wrong passwords, counted in cells of which there is a fixed number, and the addresses that accounts know.

CREATE TABLE api.login_budgets (
    budget text NOT NULL,                     -- what is counted: see login_limits.py
    cell bigint NOT NULL,                     -- a keyed hash, or for `account` the user's id
    full_at timestamptz NOT NULL,             -- when all of it may be spent again
    PRIMARY KEY (budget, cell)
) WITH (fillfactor = 70);

CREATE TABLE api.known_addresses (
    user_id int NOT NULL,
    address_hash bytea NOT NULL,              -- HMAC under the cluster's secret
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, address_hash)
);
