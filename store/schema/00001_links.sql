-- +goose Up

-- Times are microseconds since 1970, UTC, unless a column says otherwise.

CREATE TABLE links (
	id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: clicks under way name it. PostgreSQL: BIGINT GENERATED ALWAYS AS IDENTITY
	domain       TEXT   NOT NULL,                   -- '' is the instance's own
	code         TEXT   NOT NULL,                   -- as typed
	clicks       BIGINT NOT NULL DEFAULT 0,         -- the sum of its totals
	human_clicks BIGINT NOT NULL DEFAULT 0,
	expires_at   BIGINT,                            -- NULL: never
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	title        TEXT   NOT NULL,
	url          TEXT   NOT NULL,                   -- byte for byte as typed
	UNIQUE (domain, code)
);

CREATE TABLE totals (
	link_id      BIGINT NOT NULL,
	slot         BIGINT NOT NULL, -- when its 15 minutes began, in seconds since 1970
	clicks       BIGINT NOT NULL,
	human_clicks BIGINT NOT NULL,
	PRIMARY KEY (link_id, slot)
) WITHOUT ROWID;

CREATE TABLE keys (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	hash       TEXT    NOT NULL UNIQUE, -- SHA-256 of the secret, hexadecimal
	label      TEXT    NOT NULL,
	admin      BOOLEAN NOT NULL,
	created_at BIGINT  NOT NULL
);

-- What is done once in the life of a store, whichever process comes first.
CREATE TABLE done (
	name TEXT   NOT NULL PRIMARY KEY,
	at   BIGINT NOT NULL
);

-- What package queue/inbox keeps beside its effects.
CREATE TABLE inbox_positions (consumer TEXT NOT NULL, generation BIGINT NOT NULL, topic TEXT NOT NULL, partition BIGINT NOT NULL, position TEXT NOT NULL, moved_at BIGINT NOT NULL, PRIMARY KEY (consumer, generation, topic, partition));
CREATE TABLE inbox_segments (consumer TEXT NOT NULL, generation BIGINT NOT NULL, segment TEXT NOT NULL, next BIGINT NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (consumer, generation, segment));
CREATE INDEX inbox_segments_seen ON inbox_segments (seen_at);
