-- The settings of users are facts of the log. Those that an earlier release keeps here, and those that a gateway of that
-- release writes here while the cluster is upgraded, are carried over into the log.

ALTER TABLE api.user_settings ADD COLUMN carried_over boolean NOT NULL DEFAULT false;

CREATE FUNCTION api.user_setting_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.carried_over := false;
    RETURN NEW;
END $$;

CREATE TRIGGER user_setting_changed BEFORE UPDATE OF value ON api.user_settings
FOR EACH ROW WHEN (NEW.value IS DISTINCT FROM OLD.value) EXECUTE FUNCTION api.user_setting_changed();
