CREATE TABLE read_queue.jobs (
    job_id text NOT NULL,
    pool text NOT NULL,
    place numeric NOT NULL,   -- in the queue, among equals: the number of its first request, unless a person moved it
    PRIMARY KEY (job_id, pool)
);

CREATE TABLE read_queue.arrivals (
    pool text PRIMARY KEY,
    count bigint NOT NULL
);
