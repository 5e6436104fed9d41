-- The log's tables. PRAGMA user_version is 1.

CREATE TABLE topics (
	name       TEXT    PRIMARY KEY,
	id         BLOB    NOT NULL,           -- queue.TopicID
	partitions INTEGER NOT NULL,
	max_bytes  INTEGER NOT NULL,
	bytes      INTEGER NOT NULL DEFAULT 0  -- sum over entries of length(frames)
);

CREATE TABLE partitions (
	part      INTEGER PRIMARY KEY,         -- names the partition in the tables below
	topic     TEXT    NOT NULL REFERENCES topics (name),
	partition INTEGER NOT NULL,
	appended  INTEGER NOT NULL DEFAULT 0,  -- messages, ever
	UNIQUE (topic, partition)
);

-- A batch is a row. base is the number of messages of the partition before it.
CREATE TABLE entries (
	part     INTEGER NOT NULL,
	base     INTEGER NOT NULL,
	mark     INTEGER NOT NULL,             -- the check of its positions
	count    INTEGER NOT NULL,
	segment  BLOB    NOT NULL,             -- queue.SegmentID; all zero: none
	first    INTEGER NOT NULL,
	earliest INTEGER,                      -- nanoseconds since 1970; null: no message has a time
	frames   BLOB    NOT NULL,             -- queue.AppendFrames
	UNIQUE (part, base)
);

CREATE TABLE segments (
	part    INTEGER NOT NULL,
	segment BLOB    NOT NULL,
	next    INTEGER NOT NULL,
	seen_at INTEGER NOT NULL,              -- seconds since 1970
	PRIMARY KEY (part, segment)
) WITHOUT ROWID;
CREATE INDEX segments_seen ON segments (seen_at);

CREATE TABLE rosters (
	consumer TEXT    NOT NULL,
	topic    TEXT    NOT NULL,
	boot     TEXT    NOT NULL,             -- the boot whose clock its times are of
	version  INTEGER NOT NULL,
	roster   BLOB    NOT NULL,
	PRIMARY KEY (consumer, topic)
);

CREATE TABLE positions (
	consumer  TEXT    NOT NULL,
	topic     BLOB    NOT NULL,            -- queue.TopicID
	partition INTEGER NOT NULL,
	position  TEXT    NOT NULL,
	PRIMARY KEY (consumer, topic, partition)
);
