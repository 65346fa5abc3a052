package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/fault"
)

// Advisory locks have two numbers: the oid of the schema, and one of these or the id
// of a process, which is positive.
const (
	migrateLock = int32(0)
	cleanUpLock = int32(-1)
)

//go:embed schema.sql
var schema string

// oldest is the version of the tables of Deft 0.1.0. No release had a lower one.
const oldest = 2

// upgrades bring the tables from one version to the next, the first from oldest on. A change
// of schema.sql, which has the newest tables, adds one.
var upgrades []string

// latest is the version of schema.sql.
var latest = oldest + len(upgrades)

// migrate makes the tables, or brings them to the present version, and returns the oid
// of their schema. Several processes may do so at a time: they wait for each other.
func migrate(ctx context.Context, c *pgx.Conn) (oid uint32, err error) {
	err = c.QueryRow(ctx, "SELECT oid::int8 FROM pg_namespace WHERE nspname = current_schema()").Scan(&oid)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fault.New(fault.Invalid, "no schema of the search_path exists in the PostgreSQL database").Hint("create it, or change search_path in the URL")
	}
	if err != nil {
		return 0, err
	}
	if version, err := schemaVersion(ctx, c); err != nil || version == latest {
		return oid, err
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1, $2)", int32(oid), migrateLock); err != nil {
			return err
		}
		have, err := schemaVersion(ctx, tx.Conn())
		if err != nil {
			return err
		}
		if have == 0 {
			if _, err := tx.Exec(ctx, "CREATE TABLE schema_version (version integer NOT NULL); INSERT INTO schema_version VALUES (0)", pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		missing := []string{schema}
		if have > 0 {
			missing = upgrades[have-oldest:]
		}
		for _, sql := range missing {
			if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("make the tables: %w", err)
			}
		}
		_, err = tx.Exec(ctx, "UPDATE schema_version SET version = $1", latest)
		return err
	})
	return oid, err
}

// schemaVersion returns the version of the tables; 0 if there are none.
func schemaVersion(ctx context.Context, c *pgx.Conn) (version int, err error) {
	var made bool
	if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_version')").Scan(&made); err != nil || !made {
		return 0, err
	}
	if err := c.QueryRow(ctx, "SELECT version FROM schema_version").Scan(&version); err != nil {
		return 0, err
	}
	if version > latest {
		return 0, fault.New(fault.Unsupported, fmt.Sprintf("the event database has version %d, this program knows up to %d", version, latest)).
			Hint("use a newer version of Deft")
	}
	if version > 0 && version < oldest {
		return 0, fault.New(fault.Unsupported, fmt.Sprintf("the event database has version %d, from before Deft 0.1.0", version)).
			Hint("use an empty database or schema")
	}
	return version, nil
}
