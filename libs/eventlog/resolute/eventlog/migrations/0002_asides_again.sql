-- What was set aside may be handled once more, when a person has mended what stood in the way and asks for it.

ALTER TABLE eventlog.aside ADD COLUMN again_at timestamptz;
