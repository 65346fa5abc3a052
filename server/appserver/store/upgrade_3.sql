-- From version 2 of schema.sql to version 3.
CREATE TABLE app_callbacks (
  id           TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  conversation TEXT   NOT NULL,
  kind         TEXT   NOT NULL,
  processor    TEXT   NOT NULL,
  status       TEXT   NOT NULL,
  seen         BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);
CREATE INDEX app_callbacks_conversation ON app_callbacks (conversation);
CREATE TABLE app_callback_results (
  callback     TEXT   NOT NULL,
  seq          BIGINT NOT NULL,
  id           TEXT   NOT NULL,
  conversation TEXT   NOT NULL,
  event        TEXT   NOT NULL,
  status       TEXT   NOT NULL,
  detail       TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (callback, seq)
);
CREATE INDEX app_callback_results_conversation ON app_callback_results (conversation, created_at, id);
