-- The tables of task queues, and the version of all. Instants and times of leases are
-- microseconds, instants since 1970.

CREATE TABLE queue_version (version INTEGER NOT NULL);
INSERT INTO queue_version (version) VALUES (2);

-- The boot of the host by whose clock leases are measured.
CREATE TABLE queue_leases_by (boot TEXT NOT NULL);

CREATE TABLE queue_queues (
	queue        INTEGER PRIMARY KEY,         -- names the queue in the tables below
	name         TEXT    NOT NULL UNIQUE,
	max_tasks    INTEGER NOT NULL,
	overflow     TEXT    NOT NULL,
	remember     INTEGER NOT NULL,            -- nanoseconds, as keep_done and keep_dead
	keep_done    INTEGER NOT NULL,
	max_dead     INTEGER NOT NULL,
	keep_dead    INTEGER NOT NULL,
	paused       INTEGER NOT NULL DEFAULT 0,
	tasks        INTEGER NOT NULL DEFAULT 0,  -- rows of queue_tasks
	dead         INTEGER NOT NULL DEFAULT 0,  -- rows of queue_dead
	dropped      INTEGER NOT NULL DEFAULT 0,
	dropped_dead INTEGER NOT NULL DEFAULT 0,
	grown        INTEGER NOT NULL DEFAULT 0   -- how often there was more to pull
);

-- What is to be done. A lease changes these rows, and not the messages beside them.
CREATE TABLE queue_tasks (
	number   INTEGER PRIMARY KEY,             -- that of its frame
	queue    INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	type     TEXT    NOT NULL,
	named    INTEGER NOT NULL,                -- its ID is remembered when it is done
	bytes    INTEGER NOT NULL,                -- of its frame
	due      INTEGER NOT NULL,                -- when it can be pulled, or could be last
	deadline INTEGER,
	pushed   INTEGER NOT NULL,
	failed   INTEGER NOT NULL DEFAULT 0,
	lost     INTEGER NOT NULL DEFAULT 0,
	released INTEGER NOT NULL DEFAULT 0,
	until    INTEGER,                         -- the end of its lease, since the boot; null: not leased
	token    INTEGER NOT NULL DEFAULT 0,      -- of its lease
	error    TEXT    NOT NULL DEFAULT '',     -- the last one
	progress BLOB
);
CREATE UNIQUE INDEX queue_tasks_id ON queue_tasks (queue, id);
CREATE INDEX queue_tasks_due ON queue_tasks (queue, type, due) WHERE until IS NULL;
CREATE INDEX queue_tasks_leased ON queue_tasks (queue, until) WHERE until IS NOT NULL;

CREATE TABLE queue_frames (
	number INTEGER PRIMARY KEY,
	frame  BLOB NOT NULL                      -- queue.AppendFrames of one message
);

CREATE TABLE queue_dead (
	number   INTEGER PRIMARY KEY AUTOINCREMENT,
	queue    INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	type     TEXT    NOT NULL,
	named    INTEGER NOT NULL,
	due      INTEGER NOT NULL,                -- when it was due last
	deadline INTEGER,
	pushed   INTEGER NOT NULL,
	buried   INTEGER NOT NULL,
	failed   INTEGER NOT NULL,
	lost     INTEGER NOT NULL,
	released INTEGER NOT NULL,
	reason   TEXT    NOT NULL,
	error    TEXT    NOT NULL,
	progress BLOB,
	frame    BLOB    NOT NULL
);
CREATE INDEX queue_dead_queue ON queue_dead (queue);  -- and number, as every index
CREATE INDEX queue_dead_id ON queue_dead (queue, id);
CREATE INDEX queue_dead_buried ON queue_dead (queue, buried);

-- IDs of tasks that are done. Where kept is null, the columns after it are, too.
CREATE TABLE queue_done (
	queue    INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	until    INTEGER NOT NULL,                -- so long the ID is taken
	kept     INTEGER,                         -- and so long the task can be looked at
	ended    INTEGER,
	due      INTEGER,
	deadline INTEGER,
	pushed   INTEGER,
	failed   INTEGER,
	lost     INTEGER,
	released INTEGER,
	error    TEXT,
	progress BLOB,
	result   BLOB,
	frame    BLOB,
	PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX queue_done_until ON queue_done (until);
CREATE INDEX queue_done_kept ON queue_done (queue, kept) WHERE kept IS NOT NULL;
