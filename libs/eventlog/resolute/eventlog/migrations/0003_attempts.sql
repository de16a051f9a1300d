-- Which events a process was handling: a note that is still there when the next process starts tells that the first
-- one died of it, or beside it.

CREATE TABLE eventlog.attempts (
    consumer text   NOT NULL,
    position bigint NOT NULL,
    run      text   NOT NULL,
    PRIMARY KEY (consumer, position, run)
);
