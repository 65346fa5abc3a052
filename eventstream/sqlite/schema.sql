-- Version 2 of the event database. PRAGMA user_version holds the version.

-- One row for each conversation. log numbers the list of its own events; it
-- is never used twice (AUTOINCREMENT), because forks may still read from the
-- log of a conversation that was deleted. base is how many events it shares
-- through segments: its own events have the numbers from base+1 on. What its
-- owner keeps beside the events comes last, so that nothing else reads it.
CREATE TABLE conversations (
  log     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT    NOT NULL UNIQUE,
  created INTEGER NOT NULL, -- Unix time in nanoseconds
  base    INTEGER NOT NULL,
  pieces  INTEGER NOT NULL, -- rows in segments
  sum     INTEGER NOT NULL, -- of the columns above
  metasum INTEGER NOT NULL, -- of log and the columns below
  meta    BLOB    NOT NULL, -- JSON of eventstream.Meta without Extra
  extra   BLOB    NOT NULL  -- Meta.Extra
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
  cost    INTEGER NOT NULL, -- the bits of a float64, in US dollars
  tail    BLOB    NOT NULL, -- where the events of the unfinished lump are
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

-- The events of all conversations in the order of their arrival, a page full
-- of them in a row, so that a transaction writes few pages; see chunk.go.
CREATE TABLE chunks (
  chunk INTEGER PRIMARY KEY,
  recs  BLOB NOT NULL
);

-- Where the events of a log are, 64 of them in a row; see lump.go. lump is
-- log << 24 | number of the lump.
CREATE TABLE places (
  lump INTEGER PRIMARY KEY,
  body BLOB NOT NULL
);

-- Where an event is, by a hash of its id; see ids.go. bucket is
-- log << 24 | number of the bucket. Ids are random, so they are entered 64
-- at a time. Events that forks share are always here.
CREATE TABLE ids (
  bucket INTEGER PRIMARY KEY,
  body   BLOB NOT NULL
);

-- Logs whose last known reference was removed; see reap.go.
CREATE TABLE dead (log INTEGER PRIMARY KEY);
