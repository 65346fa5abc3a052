-- Version 1 of the event database. PRAGMA user_version holds the version.

-- One row for each conversation. log numbers the list of its own events; it
-- is never used twice (AUTOINCREMENT), because forks may still read from the
-- log of a conversation that was deleted. base is how many events it shares
-- through segments: its own events have the numbers from base+1 on.
CREATE TABLE conversations (
  log     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT    NOT NULL UNIQUE,
  created INTEGER NOT NULL, -- Unix time in nanoseconds
  base    INTEGER NOT NULL,
  pieces  INTEGER NOT NULL, -- rows in segments
  meta    BLOB    NOT NULL, -- JSON of eventstream.Meta
  sum     INTEGER NOT NULL
);
CREATE INDEX conversations_created ON conversations (created);

-- What changes with each append, kept apart so that the row is small. The
-- count is also what tells a lost tail from the end.
CREATE TABLE heads (
  log     INTEGER PRIMARY KEY,
  events  INTEGER NOT NULL,
  indexed INTEGER NOT NULL, -- own events up to this one are in ids
  updated INTEGER NOT NULL, -- Unix time in nanoseconds
  status  TEXT    NOT NULL,
  sum     INTEGER NOT NULL
);

-- The events that a fork shares. Depth is always one: a fork of a fork holds
-- clipped copies of its source's segments. at is the fork's number of the
-- first event.
CREATE TABLE segments (
  log    INTEGER NOT NULL,
  ord    INTEGER NOT NULL,
  src    INTEGER NOT NULL,
  first  INTEGER NOT NULL,
  last   INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  sum    INTEGER NOT NULL,
  PRIMARY KEY (log, ord)
) WITHOUT ROWID;
CREATE INDEX segments_src ON segments (src);

-- Each pair of kind and source that occurs, so that an event names it by a
-- small number and filters compare integers.
CREATE TABLE labels (
  label  INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,
  source TEXT NOT NULL,
  UNIQUE (kind, source)
);

-- The events. rec holds checksum, parent id and JSON; see record.go.
CREATE TABLE records (
  log   INTEGER NOT NULL,
  seq   INTEGER NOT NULL,
  label INTEGER NOT NULL,
  ts    TEXT    NOT NULL,
  id    NOT NULL, -- 16 bytes for a UUID, else its text
  rec   BLOB    NOT NULL,
  PRIMARY KEY (log, seq)
) WITHOUT ROWID;

-- Where an event is, by its id. Ids are random, so that each insert dirties a
-- page of its own; a log's newest events are therefore entered a hundred at a
-- time, and looked for in records until then. Events that forks share are
-- always here.
CREATE TABLE ids (
  log INTEGER NOT NULL,
  id  NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (log, id)
) WITHOUT ROWID;

-- Logs whose last known reference was removed; see reap.go.
CREATE TABLE dead (log INTEGER PRIMARY KEY);
