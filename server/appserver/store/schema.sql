-- The App Server's own tables, for SQLite and PostgreSQL. What a conversation is about,
-- its title, times, status and cost are in the event store.
CREATE TABLE app_sandboxes (
  id         TEXT   NOT NULL PRIMARY KEY,
  owner      TEXT   NOT NULL,
  spec       TEXT   NOT NULL, -- the sandbox specification that it was made from
  paused     INTEGER NOT NULL, -- 1 if its user has paused it
  key_hash   TEXT   NOT NULL, -- SHA-256 of the session key, in hexadecimal
  key_sealed TEXT   NOT NULL, -- the session key, sealed
  directory  TEXT   NOT NULL, -- its workspace on this machine
  created_at BIGINT NOT NULL, -- microseconds since 1970
  used_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX app_sandboxes_key ON app_sandboxes (key_hash);
CREATE INDEX app_sandboxes_owner ON app_sandboxes (owner, created_at);

CREATE TABLE app_conversations (
  id          TEXT    NOT NULL PRIMARY KEY, -- the conversation's in the event store
  owner       TEXT    NOT NULL,
  sandbox     TEXT    NOT NULL,
  repository  TEXT    NOT NULL, -- '' for none
  branch      TEXT    NOT NULL,
  provider    TEXT    NOT NULL, -- of the repository: github, gitlab ...
  started_by  TEXT    NOT NULL, -- the contract's trigger: gui, resolver, slack ...
  model       TEXT    NOT NULL, -- '' for that of the settings
  agent_type  TEXT    NOT NULL, -- default or plan
  public      INTEGER NOT NULL, -- 1 if everybody with the link may read it
  pr_numbers  TEXT    NOT NULL, -- a JSON list
  created_at  BIGINT  NOT NULL,
  pr_urls     TEXT    NOT NULL -- a JSON object, by number, of those that it has opened
);
CREATE INDEX app_conversations_sandbox ON app_conversations (sandbox);

CREATE TABLE app_start_tasks (
  id           TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  conversation TEXT   NOT NULL, -- that it makes
  sandbox      TEXT   NOT NULL, -- '' until there is one
  status       TEXT   NOT NULL,
  detail       TEXT   NOT NULL, -- of an error
  request      TEXT   NOT NULL, -- JSON, as it was sent, sealed
  log          TEXT   NOT NULL, -- what the set-up printed
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL,
  failed_at    TEXT   NOT NULL -- the status in which it failed
);
CREATE INDEX app_start_tasks_owner ON app_start_tasks (owner, created_at);
CREATE INDEX app_start_tasks_conversation ON app_start_tasks (conversation);
CREATE INDEX app_start_tasks_unfinished ON app_start_tasks (owner, created_at) WHERE status NOT IN ('READY', 'ERROR');

CREATE TABLE app_pending_messages (
  id         TEXT   NOT NULL PRIMARY KEY,
  owner      TEXT   NOT NULL,
  task       TEXT   NOT NULL, -- the start task that sends it
  content    TEXT   NOT NULL, -- JSON
  created_at BIGINT NOT NULL
);
CREATE INDEX app_pending_messages_task ON app_pending_messages (task, created_at);

-- API keys of programs, sessions of browsers and codes to sign in with.
CREATE TABLE app_credentials (
  hash       TEXT   NOT NULL PRIMARY KEY, -- SHA-256 of the secret, in hexadecimal
  id         TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  kind       TEXT   NOT NULL, -- api_key, cookie or code
  name       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  used_at    BIGINT NOT NULL, -- 0 for never
  expires_at BIGINT NOT NULL  -- 0 for never
);
CREATE UNIQUE INDEX app_credentials_id ON app_credentials (id);
CREATE INDEX app_credentials_owner ON app_credentials (owner, kind, created_at);

-- Settings, profiles and secrets of owners where several servers share the database:
-- JSON, secrets in it sealed.
CREATE TABLE app_documents (
  path    TEXT   NOT NULL PRIMARY KEY, -- OWNER/NAME.json or OWNER/FOLDER/NAME.json
  content TEXT   NOT NULL,
  changed BIGINT NOT NULL
);

-- What is called for the events of conversations.
CREATE TABLE app_callbacks (
  id           TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  conversation TEXT   NOT NULL,
  kind         TEXT   NOT NULL, -- of its processor
  processor    TEXT   NOT NULL, -- JSON, sealed
  status       TEXT   NOT NULL, -- ACTIVE or COMPLETED
  seen         BIGINT NOT NULL, -- the last event that it needs no more
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);
CREATE INDEX app_callbacks_conversation ON app_callbacks (conversation);

-- What came of it: one row for each event that was processed.
CREATE TABLE app_callback_results (
  callback     TEXT   NOT NULL,
  seq          BIGINT NOT NULL, -- of the event in its conversation
  id           TEXT   NOT NULL,
  conversation TEXT   NOT NULL,
  event        TEXT   NOT NULL,
  status       TEXT   NOT NULL, -- SUCCESS or ERROR
  detail       TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (callback, seq)
);
CREATE INDEX app_callback_results_conversation ON app_callback_results (conversation, created_at, id);

-- Conversations that replay what was recorded and are not through with it.
CREATE TABLE app_replays (
  conversation TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  created_at   BIGINT NOT NULL
);
CREATE INDEX app_replays_owner ON app_replays (owner);
