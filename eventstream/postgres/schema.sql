-- The event store in PostgreSQL, version 2 (table schema_version). Read it with any
-- client, also while Deft runs:
--
--   SELECT seq, kind, source, body FROM conversation_events WHERE conversation = '…' ORDER BY seq;
--   SELECT body::jsonb -> 'llm_message' FROM conversation_events WHERE kind = 'MessageEvent';
--
-- Only Deft may write it: it maintains numbers and counts, and notifies followers. A text
-- that PostgreSQL cannot store (with a zero byte, or not in UTF-8), or that begins with a
-- backslash, is stored as a backslash and a quoted Go string.

CREATE TABLE conversations (
  key          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never used twice: forks may share the events of a deleted conversation
  id           text   COLLATE "C" NOT NULL,
  owner        text   COLLATE "C" NOT NULL, -- who it is for
  title        text   COLLATE "C" NOT NULL,
  title_lower  text   COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(title)) STORED, -- is searched, twice as fast as the title
  status       text   COLLATE "C" NOT NULL, -- of the last execution_status update, '' if there was none
  tags         text   NOT NULL,             -- a JSON object
  created_at   timestamptz NOT NULL,
  updated_at   timestamptz NOT NULL,
  cost         double precision NOT NULL,   -- US dollars, of the last stats update
  working_dir  text   COLLATE "C" NOT NULL,
  parent_id    text   COLLATE "C" NOT NULL, -- the conversation that started it, '' if none did
  fork_of      text   COLLATE "C" NOT NULL,
  events       bigint NOT NULL,             -- how many it has, which is also the seq of the last one
  shared       bigint NOT NULL,             -- how many of them, from the first on, belong to other conversations: see segments
  summary_at   bigint NOT NULL,             -- seq of the last event that the summary covers
  -- An append changes updated_at. Were that in an index, it would write to all indexes of the
  -- table; with the minute in it most appends write to none (heap-only tuples).
  updated_minute timestamp NOT NULL GENERATED ALWAYS AS (date_trunc('minute', updated_at AT TIME ZONE 'UTC')) STORED
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX conversations_id ON conversations (id);
CREATE INDEX conversations_created ON conversations (created_at, key);
CREATE INDEX conversations_updated ON conversations (updated_minute, key);
CREATE INDEX conversations_owner_created ON conversations (owner, created_at, key);
CREATE INDEX conversations_owner_updated ON conversations (owner, updated_minute, key);
CREATE INDEX conversations_status ON conversations (status) WHERE status NOT IN ('', 'idle', 'finished'); -- the few

-- Where the extension pg_trgm is there, or may be made, titles have an index:
-- CREATE INDEX conversations_title ON conversations USING gin (title_lower gin_trgm_ops);

-- How many conversations there are, because counting 100,000 rows is slow.
CREATE TABLE conversation_counts (
  owner         text    COLLATE "C" NOT NULL,
  status        text    COLLATE "C" NOT NULL,
  child         boolean NOT NULL, -- those with a parent_id
  conversations bigint  NOT NULL,
  PRIMARY KEY (owner, status, child)
) WITH (fillfactor = 50);

-- What is stored of a conversation beside its columns: every append changes the row of
-- the conversation, which PostgreSQL writes as a whole.
CREATE TABLE documents (
  conversation bigint PRIMARY KEY, -- conversations.key
  summary      text,               -- JSON that describes the conversation, for listings
  extra        text                -- JSON of what the conversation was made from
);

CREATE TABLE events (
  conversation bigint NOT NULL, -- conversations.key
  seq          bigint NOT NULL, -- shared+1, shared+2 … without gaps
  id           text   COLLATE "C" NOT NULL,
  parent_id    text   COLLATE "C" NOT NULL,
  kind         text   COLLATE "C" NOT NULL,
  source       text   COLLATE "C" NOT NULL,
  timestamp    text   COLLATE "C" NOT NULL, -- as the event has it, in local time
  body         text   NOT NULL, -- the whole event as JSON
  PRIMARY KEY (conversation, seq)
);
CREATE UNIQUE INDEX events_id ON events (conversation, id);
CREATE INDEX events_kind ON events (conversation, kind, seq);

-- The events that a fork shares with other conversations. The source is always the
-- conversation that the events were appended to: a fork of a fork has segments of the
-- first source.
CREATE TABLE segments (
  conversation bigint NOT NULL, -- key of the fork
  first        bigint NOT NULL, -- seq of the first event in the fork
  source       bigint NOT NULL, -- key of the conversation the events belong to
  source_first bigint NOT NULL, -- seq of the first event there
  events       bigint NOT NULL, -- how many
  PRIMARY KEY (conversation, first)
);
CREATE INDEX segments_source ON segments (source);

-- Keys of deleted conversations whose events are still to be deleted, once no fork
-- shares them.
CREATE TABLE deleted (conversation bigint PRIMARY KEY);

CREATE VIEW conversation_events AS
SELECT c.id AS conversation, e.seq, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body
FROM conversations c JOIN events e ON e.conversation = c.key
UNION ALL
SELECT c.id, s.first + e.seq - s.source_first, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body
FROM conversations c JOIN segments s ON s.conversation = c.key
JOIN events e ON e.conversation = s.source AND e.seq >= s.source_first AND e.seq < s.source_first + s.events;

-- The processes that work on conversations. Each holds the advisory lock (oid of this
-- schema, id) as long as it is connected: a row without that lock is of a process that
-- has ended or has lost its connection.
CREATE TABLE processes (
  id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  watching boolean NOT NULL DEFAULT false, -- it takes over conversations of processes that have ended
  address  text    NOT NULL, -- where other processes reach it; '' for nowhere
  started  timestamptz NOT NULL DEFAULT now()
);

-- Which process works on a conversation, and alone may append to it.
CREATE TABLE locks (
  conversation text    COLLATE "C" PRIMARY KEY, -- conversations.id; it may not exist yet
  process      integer NOT NULL REFERENCES processes ON DELETE CASCADE
);
CREATE INDEX locks_process ON locks (process);

-- The name of this store, which never changes.
CREATE TABLE installation (name text NOT NULL);
INSERT INTO installation VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12));
