-- The event database, version 7 (PRAGMA user_version). Any
-- SQLite client can read it, also while Deft runs:
--
--   SELECT seq, kind, source, body FROM conversation_events WHERE conversation = '…' ORDER BY seq;
--
-- Only Deft may write it: it maintains counts and checksums. Times are UTC, as
-- 2006-01-02T15:04:05.000000Z, so that their order as text is their order.

CREATE TABLE conversations (
  key            INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: forks may share the events of a deleted conversation
  id             TEXT    NOT NULL,
  owner          TEXT    NOT NULL, -- who it is for
  title          TEXT    NOT NULL,
  status         TEXT    NOT NULL, -- of the last execution_status update, '' if there was none
  tags           TEXT    NOT NULL, -- a JSON object
  created_at     TEXT    NOT NULL,
  updated_at     TEXT    NOT NULL,
  cost           REAL    NOT NULL, -- US dollars, of the last stats update
  working_dir    TEXT    NOT NULL,
  parent_id      TEXT    NOT NULL,
  fork_of        TEXT    NOT NULL,
  events         INTEGER NOT NULL, -- how many it has, which is also the seq of the last one
  shared         INTEGER NOT NULL, -- how many of them, from the first on, belong to other conversations: see segments
  summary_at     INTEGER NOT NULL, -- seq of the last event that summary covers
  checksum       INTEGER NOT NULL, -- of all columns
  summary_sum    INTEGER NOT NULL, -- checksum of its summary in documents
  extra_sum      INTEGER NOT NULL  -- checksum of its extra there
);
CREATE UNIQUE INDEX conversations_id ON conversations (id);
CREATE INDEX conversations_created ON conversations (created_at);
CREATE INDEX conversations_updated ON conversations (updated_at);
-- None begins with the owner: this is the store of one machine, whose conversations have
-- few owners, and an index costs a page in every commit.
CREATE INDEX conversations_status ON conversations (status, created_at);

-- What is stored of a conversation beside its columns. It is a table of its own because
-- every append changes the row of the conversation, and SQLite writes rows as a whole.
CREATE TABLE documents (
  conversation INTEGER PRIMARY KEY, -- conversations.key
  summary      TEXT,                -- JSON that describes the conversation, for listings
  extra        TEXT                 -- JSON of what the conversation was made from
);

CREATE TABLE events (
  conversation INTEGER NOT NULL, -- conversations.key
  seq          INTEGER NOT NULL, -- shared+1, shared+2 … without gaps
  id           TEXT    NOT NULL,
  parent_id    TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  source       TEXT    NOT NULL,
  timestamp    TEXT    NOT NULL, -- as the event has it, in local time
  checksum     INTEGER NOT NULL, -- of all columns
  body         TEXT    NOT NULL, -- the whole event as JSON
  PRIMARY KEY (conversation, seq)
);
CREATE UNIQUE INDEX events_id ON events (conversation, id);
CREATE INDEX events_kind ON events (conversation, kind, seq);

-- The events that a fork shares with other conversations. The source is
-- always the conversation that the events were appended to: a fork of a fork
-- has segments of the first source.
CREATE TABLE segments (
  conversation INTEGER NOT NULL, -- key of the fork
  first        INTEGER NOT NULL, -- seq of the first event in the fork
  source       INTEGER NOT NULL, -- key of the conversation the events belong to
  source_first INTEGER NOT NULL, -- seq of the first event there
  events       INTEGER NOT NULL, -- how many
  checksum     INTEGER NOT NULL,
  PRIMARY KEY (conversation, first)
) WITHOUT ROWID;
CREATE INDEX segments_source ON segments (source);

-- Keys of deleted conversations that still have events. These are deleted in
-- small steps, once no fork shares any of them.
CREATE TABLE deleted (conversation INTEGER PRIMARY KEY);

CREATE VIEW conversation_events AS
SELECT c.id AS conversation, e.seq, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body
FROM conversations c JOIN events e ON e.conversation = c.key
UNION ALL
SELECT c.id, s.first + e.seq - s.source_first, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body
FROM conversations c JOIN segments s ON s.conversation = c.key
JOIN events e ON e.conversation = s.source AND e.seq >= s.source_first AND e.seq < s.source_first + s.events;

-- Lists of many conversations are fast by two tables, which triggers keep true.

-- How many conversations there are, because counting 100,000 rows is slow.
CREATE TABLE conversation_counts (
  owner         TEXT    NOT NULL,
  status        TEXT    NOT NULL,
  child         INTEGER NOT NULL, -- 1 for those with a parent_id
  conversations INTEGER NOT NULL,
  PRIMARY KEY (owner, status, child)
) WITHOUT ROWID;

-- The titles that are not empty, by all runs of three characters without regard to case:
-- it finds what contains a text, and holds no copy of the titles. SQLite 3.34 and later
-- know it.
CREATE VIRTUAL TABLE titles USING fts5(title, content = '', tokenize = 'trigram');

CREATE TRIGGER conversations_made AFTER INSERT ON conversations BEGIN
  INSERT INTO conversation_counts VALUES (new.owner, new.status, new.parent_id <> '', 1)
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
  INSERT INTO titles (rowid, title) SELECT new.key, new.title WHERE new.title <> '';
END;
CREATE TRIGGER conversations_deleted AFTER DELETE ON conversations BEGIN
  UPDATE conversation_counts SET conversations = conversations - 1
    WHERE owner = old.owner AND status = old.status AND child = (old.parent_id <> '');
  INSERT INTO titles (titles, rowid, title) SELECT 'delete', old.key, old.title WHERE old.title <> '';
END;
CREATE TRIGGER conversations_counted AFTER UPDATE OF owner, status, parent_id ON conversations
WHEN old.owner <> new.owner OR old.status <> new.status OR (old.parent_id <> '') <> (new.parent_id <> '') BEGIN
  UPDATE conversation_counts SET conversations = conversations - 1
    WHERE owner = old.owner AND status = old.status AND child = (old.parent_id <> '');
  INSERT INTO conversation_counts VALUES (new.owner, new.status, new.parent_id <> '', 1)
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
END;
CREATE TRIGGER conversations_titled AFTER UPDATE OF title ON conversations WHEN old.title <> new.title BEGIN
  INSERT INTO titles (titles, rowid, title) SELECT 'delete', old.key, old.title WHERE old.title <> '';
  INSERT INTO titles (rowid, title) SELECT new.key, new.title WHERE new.title <> '';
END;
