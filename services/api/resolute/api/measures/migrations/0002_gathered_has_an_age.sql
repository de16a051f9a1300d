-- What peers gather expires and has a size, and a round knows how many peers it is of. Only columns are added: a
-- gateway of the release before goes on writing the others.
ALTER TABLE measures.gathered ADD COLUMN arrived_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE measures.gathered ADD COLUMN peers int;
ALTER TABLE measures.gathered ADD COLUMN size_bytes int;
CREATE INDEX gathered_by_age ON measures.gathered (arrived_at);
