package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"hash/fnv"
	"path"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/settings/filestore"
)

// documentTime bounds a statement about a document.
const documentTime = 30 * time.Second

// Documents keep settings in the database, so that all servers on it have the same. They
// implement [filestore.Files]; their locks need PostgreSQL.
type Documents struct{ s *Store }

var _ filestore.Files = Documents{}

// Documents returns the documents of the database.
func (s *Store) Documents() Documents { return Documents{s} }

func (d Documents) on() (tx, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), documentTime)
	return d.s.on(ctx), cancel
}

// Lock implements [filestore.Files] with an advisory lock, which ends with the connection.
func (d Documents) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if d.s.engine != PostgreSQL {
		return nil, fault.New(fault.Unsupported, "documents in SQLite cannot be locked")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, filestore.LockTimeout, fault.New(fault.Unavailable, "others change the settings all the time"))
	defer cancel()
	// Holders of locks need more connections to read and write.
	done := func() {}
	if d.s.locks != nil {
		select {
		case d.s.locks <- struct{}{}:
			done = func() { <-d.s.locks }
		case <-ctx.Done():
			return nil, fault.Wrap(context.Cause(ctx), fault.KindOf(context.Cause(ctx)), "lock the settings")
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	c, err := d.s.db.Conn(ctx)
	if err != nil {
		return nil, failed(err)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	key := int64(h.Sum64())
	if _, err := c.ExecContext(ctx, "SELECT pg_advisory_lock(hashtext(current_schema()), hashint8($1))", key); err != nil {
		err = errors.Join(err, c.Close())
		if ctx.Err() != nil {
			return nil, fault.Wrap(context.Cause(ctx), fault.KindOf(context.Cause(ctx)), "lock the settings")
		}
		return nil, failed(err)
	}
	return func() {
		defer done()
		ctx, cancel := context.WithTimeout(context.Background(), documentTime)
		defer cancel()
		if _, err := c.ExecContext(ctx, "SELECT pg_advisory_unlock(hashtext(current_schema()), hashint8($1))", key); err != nil {
			_ = c.Raw(func(any) error { return driver.ErrBadConn }) // a connection that may hold the lock is not used again
		}
		_ = c.Close() // it goes back to the pool, or is lost
	}, nil
}

// Read implements [filestore.Files].
func (d Documents) Read(name string) ([]byte, error) {
	t, cancel := d.on()
	defer cancel()
	return one(t, value[[]byte], nil, "SELECT content FROM app_documents WHERE path = ?", name)
}

// Size implements [filestore.Files].
func (d Documents) Size(name string) (size int64, found bool, err error) {
	t, cancel := d.on()
	defer cancel()
	err = t.row("SELECT length(content) FROM app_documents WHERE path = ?", name).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return size, err == nil, failed(err)
}

// Write implements [filestore.Files].
func (d Documents) Write(name string, raw []byte) error {
	t, cancel := d.on()
	defer cancel()
	_, err := t.exec("INSERT INTO app_documents (path, content, changed) VALUES (?, ?, ?) ON CONFLICT (path) DO UPDATE SET content = excluded.content, changed = excluded.changed",
		name, string(raw), micro(time.Now()))
	return failed(err)
}

// Remove implements [filestore.Files].
func (d Documents) Remove(name string) error {
	t, cancel := d.on()
	defer cancel()
	_, err := t.exec("DELETE FROM app_documents WHERE path = ?", name)
	return failed(err)
}

// Rename implements [filestore.Files].
func (d Documents) Rename(from, to string) error {
	t, cancel := d.on()
	defer cancel()
	done, err := t.exec("UPDATE app_documents SET path = ? WHERE path = ?", to, from)
	if err != nil {
		return failed(err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(failed(err), missing("document", path.Base(from)))
	}
	return nil
}

// Names implements [filestore.Files].
func (d Documents) Names(dir string) (names []string, err error) {
	t, cancel := d.on()
	defer cancel()
	paths, err := all(t, value[string], "SELECT path FROM app_documents WHERE path > ? AND path < ? ORDER BY path", dir+"/", dir+"0") // 0 comes after /
	for _, one := range paths {
		if path.Dir(one) == dir {
			names = append(names, path.Base(one))
		}
	}
	return names, err
}
