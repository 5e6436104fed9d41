-- +goose Up

-- What a person says of a link. Times NULL: none.
ALTER TABLE links ADD COLUMN folded        TEXT;                        -- the code in lower case, where the domain ignores case; else NULL
ALTER TABLE links ADD COLUMN version       BIGINT  NOT NULL DEFAULT 1;  -- grows with each edit
ALTER TABLE links ADD COLUMN owner         BIGINT  NOT NULL DEFAULT 0;  -- the key that made it; 0 for nobody
ALTER TABLE links ADD COLUMN note          TEXT    NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN starts_at     BIGINT;
ALTER TABLE links ADD COLUMN archived_at   BIGINT;
ALTER TABLE links ADD COLUMN click_limit   BIGINT  NOT NULL DEFAULT 0;  -- 0: none
ALTER TABLE links ADD COLUMN fallback      TEXT    NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN status        BIGINT  NOT NULL DEFAULT 0;  -- 0: 307
ALTER TABLE links ADD COLUMN query         TEXT    NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN forward_path  BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE links ADD COLUMN rules         TEXT    NOT NULL DEFAULT ''; -- JSON of []snip.Rule; '' for none
ALTER TABLE links ADD COLUMN campaign      TEXT    NOT NULL DEFAULT ''; -- JSON of snip.Campaign; '' for none
ALTER TABLE links ADD COLUMN password_hash TEXT    NOT NULL DEFAULT ''; -- argon2id; '' for none

CREATE UNIQUE INDEX links_folded ON links (domain, folded) WHERE folded IS NOT NULL;
CREATE INDEX links_domain  ON links (domain, id);
CREATE INDEX links_owner   ON links (owner, id) WHERE owner <> 0;
CREATE INDEX links_updated ON links (updated_at, id);
CREATE INDEX links_expiry  ON links (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX links_archived ON links (id) WHERE archived_at IS NOT NULL;
CREATE INDEX links_target  ON links (substr(url, 1, 200)); -- to find a link by its target; whole targets are too long for an index

-- Further codes of a link. No link of its domain has one of them.
CREATE TABLE aliases (
	id         INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they became ones
	domain     TEXT   NOT NULL,
	code       TEXT   NOT NULL,
	folded     TEXT,                              -- as in links
	link_id    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	UNIQUE (domain, code)
);
CREATE UNIQUE INDEX aliases_folded ON aliases (domain, folded) WHERE folded IS NOT NULL;
CREATE INDEX aliases_link ON aliases (link_id);

CREATE TABLE tags (
	id   INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT   NOT NULL UNIQUE
);

CREATE TABLE link_tags (
	tag_id  BIGINT NOT NULL,
	link_id BIGINT NOT NULL,
	PRIMARY KEY (tag_id, link_id)
) WITHOUT ROWID;
CREATE INDEX link_tags_link ON link_tags (link_id);

-- How many redirects of a click limit are used up. Apart from links, so that nobody who
-- follows one waits for those who count.
CREATE TABLE click_limits (
	link_id BIGINT NOT NULL PRIMARY KEY,
	used    BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE domains (
	id             INTEGER PRIMARY KEY AUTOINCREMENT,
	host           TEXT    NOT NULL UNIQUE, -- in ASCII and lower case; '' is the instance's own
	ignore_case    BOOLEAN NOT NULL DEFAULT FALSE,
	root           TEXT    NOT NULL DEFAULT '',
	not_found      TEXT    NOT NULL DEFAULT '',
	not_found_text TEXT    NOT NULL DEFAULT '',
	version        BIGINT  NOT NULL DEFAULT 1,
	created_at     BIGINT  NOT NULL,
	updated_at     BIGINT  NOT NULL
);
INSERT INTO domains (host, created_at, updated_at) VALUES ('', 0, 0);

ALTER TABLE keys ADD COLUMN scopes     TEXT    NOT NULL DEFAULT 'read,write'; -- of read, write and admin, with commas
ALTER TABLE keys ADD COLUMN contact    TEXT    NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN time_zone  TEXT    NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN domain     TEXT;                                  -- NULL: all
ALTER TABLE keys ADD COLUMN own_links  BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE keys ADD COLUMN expires_at BIGINT;
ALTER TABLE keys ADD COLUMN revoked_at BIGINT;
ALTER TABLE keys ADD COLUMN last_used  BIGINT;
UPDATE keys SET scopes = 'admin' WHERE admin;
ALTER TABLE keys DROP COLUMN admin;

-- Which link a request made that may be sent again.
CREATE TABLE idempotency (
	owner      BIGINT NOT NULL, -- the key that asked; 0 for nobody
	name       TEXT   NOT NULL, -- SHA-256 of what the caller named it, hexadecimal
	request    TEXT   NOT NULL, -- SHA-256 of what was asked for, hexadecimal
	link_id    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (owner, name)
) WITHOUT ROWID;
CREATE INDEX idempotency_created ON idempotency (created_at);
