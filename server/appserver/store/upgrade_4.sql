-- From version 3 of schema.sql to version 4.
ALTER TABLE app_start_tasks ADD COLUMN failed_at TEXT NOT NULL DEFAULT '';
