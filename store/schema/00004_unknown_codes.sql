-- +goose Up

-- Which codes without a link were asked for. Only so many are kept apart on one UTC
-- day, so that a flood of made-up codes fills no disk.
CREATE TABLE unknown_codes (
	id   INTEGER PRIMARY KEY AUTOINCREMENT, -- PostgreSQL: BIGINT GENERATED ALWAYS AS IDENTITY
	day  BIGINT NOT NULL,                   -- days since 1970
	code TEXT   NOT NULL,                   -- as asked for; '' stands for all others. Whoever adds codes of a day locks that row
	UNIQUE (day, code)
);

CREATE TABLE unknown_hits (
	slot    BIGINT NOT NULL, -- when its 15 minutes began, in seconds since 1970
	code_id BIGINT NOT NULL, -- of the slot's day
	hits    BIGINT NOT NULL,
	PRIMARY KEY (slot, code_id)
) WITHOUT ROWID;
