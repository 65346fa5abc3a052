-- A store of version 6, as Deft of that version left it: sqlite3 events.db .dump
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
INSERT INTO conversations VALUES(1,'00000000-0000-4000-8000-000000000001','ann','Fix the parser','running','{"team":"blue"}','2026-03-01T12:00:00.000000Z','2026-11-24T22:32:40.484773Z',0.0,'/w','','',2,0,0,1911740572,3489125738,1601221902);
INSERT INTO conversations VALUES(2,'00000000-0000-4000-8000-000000000002','ann','Größe der Tests','','{}','2026-03-01T13:00:00.000000Z','2026-11-24T22:32:40.459614Z',0.0,'','','',0,0,0,1945808752,0,0);
INSERT INTO conversations VALUES(3,'00000000-0000-4000-8000-000000000003','bob','fix_me 100%','','{}','2026-03-01T14:00:00.000000Z','2026-11-24T22:32:40.472335Z',0.0,'','','',0,0,0,3055391262,0,0);
INSERT INTO conversations VALUES(4,'00000000-0000-4000-8000-000000000004','bob','','','{}','2026-03-01T15:00:00.000000Z','2026-11-24T22:32:40.473682Z',0.0,'','00000000-0000-4000-8000-000000000003','',0,0,0,1309218159,0,0);
INSERT INTO conversations VALUES(6,'00000000-0000-4000-8000-000000000006','ann','A fork','running','{}','2026-03-01T18:00:00.000000Z','2026-11-24T22:32:40.486553Z',0.0,'','','00000000-0000-4000-8000-000000000001',1,1,0,2470513805,0,0);
CREATE TABLE documents (
  conversation INTEGER PRIMARY KEY, -- conversations.key
  summary      TEXT,                -- JSON that describes the conversation, for listings
  extra        TEXT                 -- JSON of what the conversation was made from
);
INSERT INTO documents VALUES(1,'{"a":1}','{"agent":"codeact"}');
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
INSERT INTO events VALUES(1,1,'ba136540-1a84-4628-9039-e063a16fc5d6','','MessageEvent','user','2026-11-24T22:32:40.484362',144117991,'{"id":"ba136540-1a84-4628-9039-e063a16fc5d6","timestamp":"2026-11-24T22:32:40.484362","source":"user","llm_message":{"role":"user","content":[{"cache_prompt":false,"type":"text","text":"hello"}],"thinking_blocks":[]},"activated_skills":[],"extended_content":[],"kind":"MessageEvent"}');
INSERT INTO events VALUES(1,2,'fbbbd3da-4964-49d0-99d0-cc3a67ef2dbe','','ConversationStateUpdateEvent','environment','2026-11-24T22:32:40.484398',2251118954,'{"id":"fbbbd3da-4964-49d0-99d0-cc3a67ef2dbe","timestamp":"2026-11-24T22:32:40.484398","source":"environment","key":"execution_status","value":"running","kind":"ConversationStateUpdateEvent"}');
CREATE TABLE segments (
  conversation INTEGER NOT NULL, -- key of the fork
  first        INTEGER NOT NULL, -- seq of the first event in the fork
  source       INTEGER NOT NULL, -- key of the conversation the events belong to
  source_first INTEGER NOT NULL, -- seq of the first event there
  events       INTEGER NOT NULL, -- how many
  checksum     INTEGER NOT NULL,
  PRIMARY KEY (conversation, first)
) WITHOUT ROWID;
INSERT INTO segments VALUES(6,1,1,1,1,2732475993);
CREATE TABLE deleted (conversation INTEGER PRIMARY KEY);
INSERT INTO deleted VALUES(5);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('conversations',6);
CREATE UNIQUE INDEX conversations_id ON conversations (id);
CREATE INDEX conversations_created ON conversations (created_at);
CREATE INDEX conversations_updated ON conversations (updated_at);
CREATE INDEX conversations_status ON conversations (status, created_at);
CREATE UNIQUE INDEX events_id ON events (conversation, id);
CREATE INDEX events_kind ON events (conversation, kind, seq);
CREATE INDEX segments_source ON segments (source);
CREATE VIEW conversation_events AS
SELECT c.id AS conversation, e.seq, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body
FROM conversations c JOIN events e ON e.conversation = c.key
UNION ALL
SELECT c.id, s.first + e.seq - s.source_first, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body
FROM conversations c JOIN segments s ON s.conversation = c.key
JOIN events e ON e.conversation = s.source AND e.seq >= s.source_first AND e.seq < s.source_first + s.events;
COMMIT;
PRAGMA user_version = 6;
