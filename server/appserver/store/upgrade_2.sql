-- From version 1 of schema.sql to version 2.
ALTER TABLE app_conversations ADD COLUMN contract TEXT NOT NULL DEFAULT 'V1';
CREATE TABLE app_feedback (
  id           TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  conversation TEXT   NOT NULL,
  polarity     TEXT   NOT NULL,
  permissions  TEXT   NOT NULL,
  email        TEXT   NOT NULL,
  version      TEXT   NOT NULL,
  events       BIGINT NOT NULL,
  created_at   BIGINT NOT NULL
);
CREATE INDEX app_feedback_conversation ON app_feedback (conversation, created_at);
CREATE TABLE app_documents (
  path    TEXT   NOT NULL PRIMARY KEY,
  content TEXT   NOT NULL,
  changed BIGINT NOT NULL
);
