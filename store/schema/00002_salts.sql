-- +goose Up

-- A salt tells the visitors of one UTC day apart. It is made the day before, and
-- erased the day after: then nobody can tell any more who a visitor was.
CREATE TABLE salts (
	day  BIGINT NOT NULL PRIMARY KEY, -- days since 1970
	salt TEXT   NOT NULL              -- 256 random bits, in hexadecimal
);
