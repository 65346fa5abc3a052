-- From version 5 of schema.sql to version 6.
CREATE INDEX app_start_tasks_unfinished ON app_start_tasks (owner, created_at) WHERE status NOT IN ('READY', 'ERROR');
CREATE INDEX app_replays_owner ON app_replays (owner);
