-- The metadata of trials are facts of the log. Those that an earlier release keeps here, and those that a gateway of that
-- release writes here while the cluster is upgraded, are carried over into the log.

ALTER TABLE measures.trial_notes ADD COLUMN metadata_carried_over boolean NOT NULL DEFAULT false;

CREATE FUNCTION measures.metadata_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.metadata_carried_over := false;
    RETURN NEW;
END $$;

CREATE TRIGGER metadata_changed BEFORE UPDATE OF metadata ON measures.trial_notes
FOR EACH ROW WHEN (NEW.metadata IS DISTINCT FROM OLD.metadata) EXECUTE FUNCTION measures.metadata_changed();

CREATE INDEX trial_notes_to_carry_over ON measures.trial_notes (trial_id)
WHERE metadata IS NOT NULL AND NOT metadata_carried_over;
