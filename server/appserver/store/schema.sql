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

-- The names of the secrets of its owner that a sandbox was given: its session key reads no others.
CREATE TABLE app_sandbox_secrets (
  sandbox TEXT NOT NULL,
  name    TEXT NOT NULL,
  PRIMARY KEY (sandbox, name)
);

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

-- Work that happens once, later or on another server (package job).
CREATE TABLE app_jobs (
  id         TEXT    NOT NULL PRIMARY KEY,
  kind       TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  subject    TEXT    NOT NULL, -- the conversation that it is about; '' for none
  unique_key TEXT,             -- of one job of the kind that has not ended; NULL for none
  state      TEXT    NOT NULL, -- ready, parked, done, failed or cancelled
  args       TEXT    NOT NULL, -- JSON, sealed
  progress   TEXT    NOT NULL, -- JSON: how far it is, and its result
  error      TEXT    NOT NULL,
  attempt    INTEGER NOT NULL, -- failures in a row
  due_at     BIGINT  NOT NULL,
  server     TEXT    NOT NULL, -- the lock of the server that leases it; '' for none
  woken      INTEGER NOT NULL DEFAULT 0,     -- 1 if another server wants one more run
  cancelled  BOOLEAN NOT NULL DEFAULT FALSE, -- its end was asked for
  created_at BIGINT  NOT NULL,
  updated_at BIGINT  NOT NULL
);
CREATE UNIQUE INDEX app_jobs_key ON app_jobs (kind, unique_key) WHERE state IN ('ready', 'parked');
CREATE INDEX app_jobs_owner ON app_jobs (owner, kind, created_at);
CREATE INDEX app_jobs_subject ON app_jobs (subject, kind);
CREATE INDEX app_jobs_at_work ON app_jobs (owner, kind, subject) WHERE state = 'ready';
CREATE INDEX app_jobs_server ON app_jobs (server) WHERE state = 'ready';

CREATE TABLE app_pending_messages (
  id         TEXT   NOT NULL PRIMARY KEY,
  owner      TEXT   NOT NULL,
  task       TEXT   NOT NULL, -- the job that starts the conversation
  content    TEXT   NOT NULL, -- JSON
  created_at BIGINT NOT NULL
);
CREATE INDEX app_pending_messages_task ON app_pending_messages (task, created_at);

-- API keys of programs, sessions of browsers, codes to sign in with, and programs that wait for
-- a person's consent.
CREATE TABLE app_credentials (
  hash       TEXT   NOT NULL PRIMARY KEY, -- SHA-256 of the secret, in hexadecimal
  id         TEXT   NOT NULL,
  owner      TEXT   NOT NULL, -- '' for a device that waits
  kind       TEXT   NOT NULL, -- api_key, cookie, code or device
  name       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  used_at    BIGINT NOT NULL, -- 0 for never
  expires_at BIGINT NOT NULL, -- 0 for never
  provider_session TEXT NOT NULL DEFAULT '' -- the identity provider's session that a cookie began with
);
CREATE UNIQUE INDEX app_credentials_id ON app_credentials (id);
CREATE INDEX app_credentials_owner ON app_credentials (owner, kind, created_at);

-- People who have signed in at an identity provider.
CREATE TABLE app_users (
  id         TEXT   NOT NULL PRIMARY KEY, -- the owner of the person's rows
  issuer     TEXT   NOT NULL,
  subject    TEXT   NOT NULL, -- the person's name at the issuer
  email      TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  seen_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX app_users_subject ON app_users (issuer, subject);

-- Sign-ins that have begun at an identity provider.
CREATE TABLE app_sign_ins (
  state      TEXT   NOT NULL PRIMARY KEY, -- SHA-256 of the state
  browser    TEXT   NOT NULL, -- SHA-256 of the browser's secret
  target     TEXT   NOT NULL, -- the page that the browser wants
  expires_at BIGINT NOT NULL
);
CREATE INDEX app_sign_ins_expires ON app_sign_ins (expires_at);

-- Settings, profiles and secrets of owners where several servers share the database:
-- JSON, secrets in it sealed.
CREATE TABLE app_documents (
  path    TEXT   NOT NULL PRIMARY KEY, -- OWNER/NAME.json or OWNER/FOLDER/NAME.json
  content TEXT   NOT NULL,
  changed BIGINT NOT NULL
);

-- Results of event callbacks: one row for each event that was processed.
CREATE TABLE app_callback_results (
  callback     TEXT   NOT NULL, -- its job
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
