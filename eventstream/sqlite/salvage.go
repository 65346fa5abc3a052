package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// SalvageReport says what [Salvage] found.
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
	// Unnamed is set when the conversation's own row was lost: it has got a
	// fresh id, and it is not known how many events it had.
	Unnamed bool
}

// Salvage copies every readable event of the damaged store in dir, which may
// be of version 1, to a new store in into, which must not hold one yet. dir is
// only read. Events that
// forks shared are copied to each of them.
func Salvage(ctx context.Context, dir, into string) (SalvageReport, error) {
	var rep SalvageReport
	if err := os.MkdirAll(into, 0o700); err != nil {
		return rep, fsError(err, "cannot make the new store's directory")
	}
	if _, err := os.Stat(filepath.Join(into, dbName)); err == nil {
		return rep, fmt.Errorf("salvage into %s: %w", into, errNotEmpty)
	}
	tmp, err := os.MkdirTemp(into, "salvage-")
	if err != nil {
		return rep, fsError(err, "cannot write to the new store's directory")
	}
	defer os.RemoveAll(tmp) // what stays behind is in a directory of its own and harms nobody
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
	s := &salvager{c: c, dst: dst}
	err = s.run(ctx)
	rep.Conversations = s.found
	return rep, errors.Join(err, dst.Close(), c.close())
}

// copyDamaged copies database and log, and mends the log's checksums.
func copyDamaged(from, to string) error {
	for _, end := range []string{"", "-wal"} {
		err := copyFile(from+end, to+end)
		if err != nil && (end == "" || !errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return mendWAL(to + "-wal")
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
	c     *conn
	src   source
	dst   *Store
	found []Salvaged
}

// source is what can be read of a damaged store.
type source interface {
	// conversation returns what its own row and its segments tell of it.
	conversation(id event.ConversationID) (*head, eventstream.Meta, error)
	// record returns an event of a log; ok is false when it is lost.
	record(log int64, seq eventstream.Seq) (rec eventstream.Record, ok bool)
	// done ends what calls of record have begun.
	done()
	// logs returns the logs that have events, with an error if there may be
	// more, and span the first and the last event of one.
	logs() ([]int64, error)
	span(log int64) (first, last eventstream.Seq, err error)
}

// open finds out which version the store has.
func (s *salvager) open() error {
	l := &labels{}
	if err := l.load(s.c); err != nil {
		return fmt.Errorf("read the kinds of events: %w", storage(err))
	}
	if _, old, err := s.c.number("SELECT 1 FROM sqlite_schema WHERE name = 'records'"); err == nil && old {
		s.src = &version1{c: s.c, labels: l}
		return nil
	}
	s.src = scan(s.c, l)
	return nil
}

func (s *salvager) run(ctx context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	known := s.dead()
	for _, id := range s.ids() {
		h, meta, err := s.src.conversation(id)
		if err != nil {
			continue // its events are found by their log below
		}
		known[h.log] = true
		if err := s.copy(ctx, Salvaged{ID: id}, meta, h.cut(1, h.events), h.events); err != nil {
			return err
		}
	}
	logs, _ := s.src.logs() // behind an error there is nothing that can be read
	for _, log := range logs {
		first, last, err := s.src.span(log)
		if err != nil || known[log] {
			continue
		}
		p := piece{src: log, first: first, last: last, at: first}
		out := Salvaged{ID: event.NewConversationID(), Unnamed: true}
		if err := s.copy(ctx, out, eventstream.Meta{Title: "Salvaged conversation"}, []piece{p}, last); err != nil {
			return err
		}
	}
	return nil
}

// dead returns the logs that were deleted, as far as that can be read.
func (s *salvager) dead() map[int64]bool {
	logs := map[int64]bool{}
	r := s.c.query("SELECT log FROM dead")
	for r.next() {
		logs[r.int(0)] = true
	}
	_ = r.close() // the worst is that a deleted conversation comes back
	return logs
}

// ids returns the conversations whose names can be read, from the table and
// from the index on it.
func (s *salvager) ids() (ids []event.ConversationID) {
	seen := map[string]bool{}
	for _, sql := range []string{"SELECT id FROM conversations NOT INDEXED", "SELECT id FROM conversations ORDER BY id"} {
		r := s.c.query(sql)
		for r.next() {
			if id := r.text(0); id != "" && !seen[id] {
				seen[id] = true
				ids = append(ids, event.ConversationID(id))
			}
		}
		_ = r.close() // damage is expected; the other way may get further
	}
	return ids
}

// copy copies the events of some pieces to a new conversation.
func (s *salvager) copy(ctx context.Context, out Salvaged, meta eventstream.Meta, pieces []piece, events eventstream.Seq) error {
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
	for _, p := range pieces {
		for at := p.at; at <= p.end(); at++ {
			if r, ok := s.src.record(p.src, p.first+at-p.at); ok {
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
	s.src.done()
	if err := flush(); err != nil {
		return err
	}
	out.LostTail = len(out.Lost) > 0 && out.Lost[len(out.Lost)-1] == events
	s.found = append(s.found, out)
	return nil
}
