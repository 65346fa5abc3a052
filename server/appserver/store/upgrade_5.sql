-- From version 4 of schema.sql to version 5.
CREATE TABLE app_replays (
  conversation TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  created_at   BIGINT NOT NULL
);
