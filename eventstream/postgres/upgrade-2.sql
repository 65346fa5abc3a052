-- Each append wrote to all indexes of conversations, because two of them had updated_at.
ALTER TABLE conversations ADD COLUMN updated_minute timestamp NOT NULL GENERATED ALWAYS AS (date_trunc('minute', updated_at AT TIME ZONE 'UTC')) STORED;
DROP INDEX conversations_updated;
DROP INDEX conversations_owner_updated;
CREATE INDEX conversations_updated ON conversations (updated_minute, key);
CREATE INDEX conversations_owner_updated ON conversations (owner, updated_minute, key);
