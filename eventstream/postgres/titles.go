package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// indexTitles makes the index by which titles are searched, which needs the extension
// pg_trgm, unless it is there. Without the extension, and the right to make it, titles are
// searched row by row: an operator who makes it later has the index after the next start.
func (s *Store) indexTitles(ctx context.Context, c *pgx.Conn) error {
	const made = "SELECT EXISTS (SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND indexname = 'conversations_title')"
	var there bool
	err := c.QueryRow(ctx, made).Scan(&there)
	if err != nil || there {
		s.titles.Store(there)
		return err
	}
	operators, err := trigramOperators(ctx, c)
	if err == nil {
		err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1, $2)", int32(s.schema), migrateLock); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "CREATE INDEX IF NOT EXISTS conversations_title ON conversations USING gin (title_lower "+operators+")")
			return err
		})
	}
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		s.log.Warn("titles of conversations are searched without an index, which takes longer where there are many", "err", err,
			"hint", "as an administrator of the database: CREATE EXTENSION pg_trgm")
		return nil
	}
	s.titles.Store(err == nil)
	return err
}

// trigramOperators returns the operator class of the extension pg_trgm, which it makes if
// there is none. All schemas share the extension, so it is not in this store's schema.
func trigramOperators(ctx context.Context, c *pgx.Conn) (class string, err error) {
	const find = "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'"
	var schema string
	if err = c.QueryRow(ctx, find).Scan(&schema); errors.Is(err, pgx.ErrNoRows) {
		_, failed := c.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public")
		if err = c.QueryRow(ctx, find).Scan(&schema); errors.Is(err, pgx.ErrNoRows) { // another server may have made it
			err = failed
		}
	}
	return pgx.Identifier{schema, "gin_trgm_ops"}.Sanitize(), err
}
