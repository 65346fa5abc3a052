package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/sqlitelog"
)

// SalvageReport is the result of [Salvage].
type SalvageReport struct {
	Conversations []Salvaged
}

// Salvaged is one conversation of a damaged store.
type Salvaged struct {
	ID event.ConversationID
	// Events is how many were copied. In the new store they are numbered
	// without gaps.
	Events int
	// Lost holds the numbers, in the damaged store, of the events that could
	// not be read; LostTail is set when there may be more behind them.
	Lost     []eventstream.Seq
	LostTail bool
	// Unnamed is set when the conversation's own row was lost: it has a fresh
	// id, and how many events it had is unknown.
	Unnamed bool
}

// Salvage copies every intact event of the damaged store in dir to a new store
// in into, which must not hold one yet. dir is only read. Events that forks
// share are copied to each of them.
func Salvage(ctx context.Context, dir, into string) (SalvageReport, error) {
	var rep SalvageReport
	if err := os.MkdirAll(into, 0o700); err != nil {
		return rep, fsError(err, "cannot make the new store's directory")
	}
	if _, err := os.Stat(filepath.Join(into, dbName)); err == nil {
		return rep, fmt.Errorf("salvage into %s: %w", into, fault.New(fault.Conflict, "there is an event store already").Hint("name an empty directory"))
	}
	tmp, err := os.MkdirTemp(into, "salvage-")
	if err != nil {
		return rep, fsError(err, "cannot write to the new store's directory")
	}
	defer os.RemoveAll(tmp) // leftovers do no harm in a directory of its own
	path := filepath.Join(tmp, dbName)
	if err := copyDamaged(filepath.Join(dir, dbName), path); err != nil {
		return rep, fsError(err, "cannot copy the damaged store")
	}
	c, err := dial(path, "writable_schema = ON", "query_only = 1", "cell_size_check = ON")
	if err != nil {
		return rep, fmt.Errorf("salvage %s: %w", dir, storage(err))
	}
	dst, err := Open(ctx, into, Options{})
	if err != nil {
		return rep, errors.Join(err, c.close())
	}
	s := &salvager{db: c, dst: dst, rows: map[int64]map[eventstream.Seq]int64{}}
	err = s.run(ctx)
	rep.Conversations = s.found
	return rep, errors.Join(err, dst.Close(), c.close())
}

// copyDamaged copies the database and its log, and corrects the checksums of
// the copied log.
func copyDamaged(from, to string) error {
	for _, end := range []string{"", "-wal"} {
		err := copyFile(from+end, to+end)
		if err != nil && (end == "" || !errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return sqlitelog.AcceptAll(to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

type salvager struct {
	db    *conn
	dst   *Store
	rows  map[int64]map[eventstream.Seq]int64 // rowid of every intact event, by conversation key
	found []Salvaged
}

// maxHole is after how many unreadable rows in a row there are none left.
const maxHole = 20_000

// scan finds every intact event by reading the table itself, because its
// indexes may be damaged too.
func (s *salvager) scan() {
	hole := 0
	for from := int64(0); hole < maxHole; from++ {
		r := s.db.query(selectEvents+" NOT INDEXED WHERE e.rowid >= ? ORDER BY e.rowid", from)
		for r.next() {
			key, rec, intact := scanEvent(r)
			r.err = nil // a damaged row does not end the scan
			row := r.int(9)
			if row < from {
				break
			}
			from, hole = row, 0
			if !intact {
				continue
			}
			if s.rows[key] == nil {
				s.rows[key] = map[eventstream.Seq]int64{}
			}
			s.rows[key][rec.Seq] = row
		}
		if r.close() == nil {
			break
		}
		hole++
	}
}

// record returns an event of a conversation key; ok is false when it is lost.
func (s *salvager) record(key int64, seq eventstream.Seq) (rec eventstream.Record, ok bool) {
	row, ok := s.rows[key][seq]
	if !ok {
		return rec, false
	}
	r := s.db.query(selectEvents+" NOT INDEXED WHERE e.rowid = ?", row)
	if ok = r.next(); ok {
		_, rec, ok = scanEvent(r)
	}
	return rec, r.close() == nil && ok // it was intact before; a row that fails now is lost
}

func (s *salvager) run(ctx context.Context) error {
	s.scan()
	known := map[int64]bool{} // if a deleted one cannot be read, the worst is that it comes back
	for _, key := range readable[int64](s.db, "SELECT conversation FROM deleted") {
		known[key] = true
	}
	// The names are in the table and in the index on it.
	ids := append(readable[string](s.db, "SELECT id FROM conversations NOT INDEXED"), readable[string](s.db, "SELECT id FROM conversations ORDER BY id")...)
	slices.Sort(ids)
	for _, name := range slices.Compact(ids) {
		id := event.ConversationID(name)
		c, err := load(s.db, id)
		if err != nil {
			continue // its events are found by their key below
		}
		known[c.key] = true
		info, _, _ := readInfo(s.db, selectInfo, string(id)) // a damaged document is no reason to give up the rest
		if err := s.copy(ctx, Salvaged{ID: id}, info.Meta, eventstream.Parts(c.runs(), 1, c.events), c.events); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		if known[key] {
			continue
		}
		seqs := slices.Sorted(maps.Keys(s.rows[key]))
		first, last := seqs[0], seqs[len(seqs)-1]
		out := Salvaged{ID: event.NewConversationID(), Unnamed: true}
		if err := s.copy(ctx, out, eventstream.Meta{Title: "Salvaged conversation"}, []eventstream.Run{{First: first, Source: key, SourceFirst: first, Events: last - first + 1}}, last); err != nil {
			return err
		}
	}
	return nil
}

// readable returns the values of a query of one column, as far as they can be read.
func readable[T int64 | string](db *conn, sql string) (all []T) {
	r := db.query(sql)
	for r.next() {
		if v := column[T](r, 0); r.err == nil {
			all = append(all, v)
		}
	}
	_ = r.close() // damage is expected
	return all
}

// copy copies the events of some segments to a new conversation.
func (s *salvager) copy(ctx context.Context, out Salvaged, meta eventstream.Meta, parts []eventstream.Run, events eventstream.Seq) error {
	if err := s.dst.Create(ctx, out.ID, meta); err != nil {
		return err
	}
	var batch []eventstream.Record
	size := 0
	flush := func() error {
		_, err := s.dst.AppendRecords(ctx, out.ID, batch...)
		out.Events += len(batch)
		batch, size = batch[:0], 0
		return err
	}
	for _, g := range parts {
		for at := g.First; at <= g.Last(); at++ {
			if r, ok := s.record(g.Source, g.SourceFirst+at-g.First); ok {
				batch = append(batch, r)
				size += len(r.JSON)
			} else {
				out.Lost = append(out.Lost, at)
			}
			if len(batch) >= pageEvents || size >= pageBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	out.LostTail = len(out.Lost) > 0 && out.Lost[len(out.Lost)-1] == events
	s.found = append(s.found, out)
	return nil
}
