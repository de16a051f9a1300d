-- The keys that secrets of configurations are sealed under, wrapped by a key that is not in the database.

CREATE TABLE api.data_keys (
    key_id text PRIMARY KEY,                  -- stands in every value that is sealed under it
    owner_id int NOT NULL,                    -- whose secrets these are
    wrapped_by text,                          -- the name of the wrapping key; null once the key was forgotten
    wrapped bytea,
    made_at timestamptz NOT NULL DEFAULT now(),
    forgotten_at timestamptz,
    CHECK ((wrapped IS NULL) = (forgotten_at IS NOT NULL))
);
CREATE INDEX data_keys_owner ON api.data_keys (owner_id);
