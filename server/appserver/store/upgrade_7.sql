-- From version 6 of schema.sql to version 7.
ALTER TABLE app_conversations ADD COLUMN pr_urls TEXT NOT NULL DEFAULT 'null';
