-- What makes lists of many conversations fast: what version 7 of the event database has
-- beside schema.sql. Triggers keep it true; what version 6 has is put in here.

-- How many conversations there are, because counting 100,000 rows is slow.
CREATE TABLE conversation_counts (
  owner         TEXT    NOT NULL,
  status        TEXT    NOT NULL,
  child         INTEGER NOT NULL, -- 1 for those with a parent_id
  conversations INTEGER NOT NULL,
  PRIMARY KEY (owner, status, child)
) WITHOUT ROWID;
INSERT INTO conversation_counts SELECT owner, status, parent_id <> '', count(*) FROM conversations GROUP BY 1, 2, 3;

-- The titles that are not empty, by all runs of three characters without regard to case:
-- it finds what contains a text, and holds no copy of the titles. SQLite 3.34 and later
-- know it.
CREATE VIRTUAL TABLE titles USING fts5(title, content = '', tokenize = 'trigram');
INSERT INTO titles (rowid, title) SELECT key, title FROM conversations WHERE title <> '';

CREATE TRIGGER conversations_made AFTER INSERT ON conversations BEGIN
  INSERT INTO conversation_counts VALUES (new.owner, new.status, new.parent_id <> '', 1)
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
  INSERT INTO titles (rowid, title) SELECT new.key, new.title WHERE new.title <> '';
END;
CREATE TRIGGER conversations_deleted AFTER DELETE ON conversations BEGIN
  UPDATE conversation_counts SET conversations = conversations - 1
    WHERE owner = old.owner AND status = old.status AND child = (old.parent_id <> '');
  INSERT INTO titles (titles, rowid, title) SELECT 'delete', old.key, old.title WHERE old.title <> '';
END;
CREATE TRIGGER conversations_counted AFTER UPDATE OF owner, status, parent_id ON conversations
WHEN old.owner <> new.owner OR old.status <> new.status OR (old.parent_id <> '') <> (new.parent_id <> '') BEGIN
  UPDATE conversation_counts SET conversations = conversations - 1
    WHERE owner = old.owner AND status = old.status AND child = (old.parent_id <> '');
  INSERT INTO conversation_counts VALUES (new.owner, new.status, new.parent_id <> '', 1)
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
END;
CREATE TRIGGER conversations_titled AFTER UPDATE OF title ON conversations WHEN old.title <> new.title BEGIN
  INSERT INTO titles (titles, rowid, title) SELECT 'delete', old.key, old.title WHERE old.title <> '';
  INSERT INTO titles (rowid, title) SELECT new.key, new.title WHERE new.title <> '';
END;
