-- From version 3 of schema.sql to version 4.
CREATE TABLE app_replays (
  conversation TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  created_at   BIGINT NOT NULL
);
