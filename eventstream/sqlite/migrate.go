package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/fault"
)

// A store of version 1 is brought up to date by the first process that opens
// it, while it holds the lock alone. A kill between any two steps costs
// nothing: events.db is the old database, whole, until the new one, whole and
// compared, takes its name. The next opening begins anew, or finds only what
// is to be cleared.

// migrateDir is where the new store is made, beside events.db.
const migrateDir = "events.migrating"

type migration struct {
	path string // of the database
	tmp  string // directory of the new store
	kept string // the old database's other name
	log  *slog.Logger
	link func(from, to string) error
	told time.Time // of the last line in the log

	conversations, events int64
}

func newMigration(path string, log *slog.Logger) *migration {
	tmp := filepath.Join(filepath.Dir(path), migrateDir)
	return &migration{path: path, tmp: tmp, log: log, link: os.Link, told: time.Now()}
}

func (m *migration) steps() []func(context.Context) error {
	return []func(context.Context) error{m.build, m.seal, m.keep, m.replace, m.clear}
}

// run brings the store up to date. After an error it is as it was, or, where
// only the cleaning up failed, up to date; the next opening goes on from there.
func (m *migration) run(ctx context.Context) error {
	for _, step := range m.steps() {
		if err := step(ctx); err != nil {
			os.RemoveAll(m.tmp)
			err = storage(err)
			if fault.Is(err, fault.Full) {
				err = fault.New(fault.Full, "no space for the new store").Because(err).
					Hint("make room for a second copy of the store and try again; nothing of it has changed")
			}
			return fmt.Errorf("bring the store from version 1 to version %d: %w", version, err)
		}
	}
	m.log.Info("the event store was brought up to date; the old database is kept, delete it when all is well",
		"kept", m.kept, "conversations", m.conversations, "events", m.events)
	return nil
}

// build makes the new store, compares it with the old one, which it only
// reads, and waits until it is on disk.
func (m *migration) build(ctx context.Context) error {
	if err := os.RemoveAll(m.tmp); err != nil {
		return fsError(err, "cannot clear what an earlier try left")
	}
	c, err := m.openOld()
	if err != nil {
		return err
	}
	dst, err := Open(ctx, m.tmp, Options{Readers: 1})
	if err != nil {
		return errors.Join(err, c.close())
	}
	t := &transfer{old: &version1{c: c, labels: &labels{}}, dst: dst, moved: map[int64]moved{}, tell: m.tell}
	err = t.run(ctx)
	if err := errors.Join(err, dst.Close(), c.close()); err != nil {
		return err
	}
	m.conversations, m.events = t.conversations, t.events
	path := filepath.Join(m.tmp, dbName)
	if err := noLog(path); err != nil {
		return err
	}
	return syncFile(path)
}

// tell says how far a migration is that takes long.
func (m *migration) tell(done, of int64) {
	if time.Since(m.told) < time.Second {
		return
	}
	m.told = time.Now()
	m.log.Info("bringing the event store up to date", "events", done, "of", of)
}

// openOld opens the old database so that nothing of it changes, not even by
// a checkpoint.
func (m *migration) openOld() (*conn, error) {
	mode := "mode=ro"
	if st, err := os.Stat(m.path + "-wal"); err != nil || st.Size() == 0 {
		mode += "&immutable=1"
	}
	return dialAs(m.path, mode, "query_only = 1", "cell_size_check = ON")
}

// seal brings what the old log holds into the old database, which is all of
// it then: a log must not stay for the new one.
func (m *migration) seal(context.Context) error {
	c, err := dial(m.path, "synchronous = FULL")
	if err != nil {
		return err
	}
	busy, _, err := c.number("PRAGMA wal_checkpoint(TRUNCATE)")
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if busy != 0 {
		return errOldInUse
	}
	if err := noLog(m.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(m.path))
}

// noLog refuses a database that has a log although it was closed: SQLite
// leaves it when somebody else has the database open.
func noLog(path string) error {
	_, err := os.Lstat(path + "-wal")
	switch {
	case err == nil:
		return errOldInUse
	case !errors.Is(err, os.ErrNotExist):
		return fsError(err, "cannot read the data directory")
	}
	return nil
}

// keep gives the old database its second name. It takes no name that
// something else has.
func (m *migration) keep(context.Context) error {
	dir := filepath.Dir(m.path)
	old, err := os.Stat(m.path)
	if err != nil {
		return fsError(err, "cannot read the event database")
	}
	m.kept = filepath.Join(dir, "events-v1.db")
	for n := 2; ; n++ {
		st, err := os.Lstat(m.kept)
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return fsError(err, "cannot read the data directory")
		}
		if os.SameFile(st, old) {
			return syncDir(dir) // a try before this one came as far
		}
		m.kept = filepath.Join(dir, fmt.Sprintf("events-v1-%d.db", n))
	}
	if m.link(m.path, m.kept) != nil {
		if err := m.copyOld(); err != nil {
			return fsError(err, "cannot keep the old event database")
		}
	}
	return syncDir(dir)
}

// copyOld is for file systems without hard links.
func (m *migration) copyOld() error {
	tmp := filepath.Join(m.tmp, "old")
	if err := copyFile(m.path, tmp); err != nil {
		return err
	}
	if err := syncFile(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, m.kept)
}

func (m *migration) replace(context.Context) error {
	if err := os.Rename(filepath.Join(m.tmp, dbName), m.path); err != nil {
		return fsError(err, "cannot put the new event database into its place")
	}
	return syncDir(filepath.Dir(m.path))
}

func (m *migration) clear(context.Context) error { return clearMigration(m.path) }

// clearMigration removes what a kill left of a migration.
func clearMigration(path string) error {
	if err := os.RemoveAll(filepath.Join(filepath.Dir(path), migrateDir)); err != nil {
		return fsError(err, "cannot clear what a migration left")
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fsError(err, "cannot write the event database")
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fsError(err, "cannot write the event database")
	}
	return nil
}

var errOldInUse = fault.New(fault.Unavailable, "a process of an older Deft has the event store open").
	Hint("stop that process; the next opening then brings the store up to date")
