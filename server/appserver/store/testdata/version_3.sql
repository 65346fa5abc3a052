-- The tables of version 3, with a row in some, as a server of that version left them.
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
  contract    TEXT    NOT NULL DEFAULT 'V1' -- by which it was made: V0 or V1
);
CREATE INDEX app_conversations_sandbox ON app_conversations (sandbox);

CREATE TABLE app_start_tasks (
  id           TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  conversation TEXT   NOT NULL, -- that it makes
  sandbox      TEXT   NOT NULL, -- '' until there is one
  status       TEXT   NOT NULL,
  detail       TEXT   NOT NULL, -- of an error
  request      TEXT   NOT NULL, -- JSON, as it was sent
  log          TEXT   NOT NULL, -- what the set-up printed
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);
CREATE INDEX app_start_tasks_owner ON app_start_tasks (owner, created_at);
CREATE INDEX app_start_tasks_conversation ON app_start_tasks (conversation);

CREATE TABLE app_pending_messages (
  id         TEXT   NOT NULL PRIMARY KEY,
  owner      TEXT   NOT NULL,
  task       TEXT   NOT NULL, -- the start task that sends it
  content    TEXT   NOT NULL, -- JSON
  created_at BIGINT NOT NULL
);
CREATE INDEX app_pending_messages_task ON app_pending_messages (task, created_at);

-- What users think of conversations.
CREATE TABLE app_feedback (
  id           TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  conversation TEXT   NOT NULL,
  polarity     TEXT   NOT NULL, -- positive or negative
  permissions  TEXT   NOT NULL, -- private or public
  email        TEXT   NOT NULL,
  version      TEXT   NOT NULL, -- of the client
  events       BIGINT NOT NULL, -- how many events the conversation had
  created_at   BIGINT NOT NULL
);
CREATE INDEX app_feedback_conversation ON app_feedback (conversation, created_at);

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
CREATE TABLE app_schema (version INTEGER NOT NULL);
INSERT INTO app_schema (version) VALUES (3);
INSERT INTO app_sandboxes VALUES ('s1', 'alice', 'process', 0, 'ae1462319c0d77eb34b730e380bdf29c292a8233ac6a87275c045a4616da3359', 'gAAAAABrBbfPtvygu-VzDZofjWKRgz_-E7VJbolhGAih51fSGtWA-ThGX5rm0Npi2PSWkL8wxmRG30Z9YaeftsOQIr2SGnbm2A==', '/srv/s1', 1700000000000000, 1700000001000000);
INSERT INTO app_conversations VALUES ('00000000-0000-4000-8000-000000000001', 'alice', 's1', 'o/r', 'main', 'github', 'gui', 'openai/m', 'plan', 1, '[7]', 1700000000000000, 'V1');
INSERT INTO app_start_tasks VALUES ('t1', 'alice', '00000000-0000-4000-8000-000000000001', 's1', 'WAITING_FOR_SANDBOX', '', '{"title":"x"}', 'log', 1700000000000000, 1700000002000000);
INSERT INTO app_pending_messages VALUES ('m1', 'alice', 't1', '{"role":"user"}', 1700000003000000);
INSERT INTO app_credentials VALUES ('b4c0ecac0d649d5ac910c20d682bd52f724173c821a63e2c1ab8ec392c2e56dc', 'k1', 'alice', 'api_key', 'ci', 1700000000000000, 0, 0);
