package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/job"
)

var _ job.Store = (*Store)(nil)

const jobColumns = "id, kind, owner, subject, unique_key, state, args, progress, error, attempt, due_at, server, created_at, updated_at"

// Conditions of jobs, in the words of their indexes.
const (
	unfinished = "state IN ('ready', 'parked')"
	atWork     = "state = 'ready'"
)

// AddJobs implements [job.Store].
func (s *Store) AddJobs(ctx context.Context, all ...job.Job) error {
	return s.change(ctx, func(t tx) error {
		for i := range all {
			if err := s.addJob(t, all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) addJob(t tx, j job.Job) error {
	args, err := s.ring.Seal(j.Args)
	if err != nil {
		return err
	}
	key := sql.NullString{String: j.Key, Valid: j.Key != ""}
	r, err := t.exec("INSERT INTO app_jobs ("+jobColumns+") VALUES ("+marks(14)+") ON CONFLICT DO NOTHING",
		j.ID, j.Kind, string(j.Owner), string(j.Subject), key, string(j.State), args, string(j.Progress), j.Error, j.Attempt, micro(j.Due), string(j.Server), micro(j.Created), micro(j.Updated))
	if err := affected(r, err, "job", j.ID); !fault.Is(err, fault.NotFound) {
		return err
	}
	var there int
	if err := t.row("SELECT count(*) FROM app_jobs WHERE id = ?", j.ID).Scan(&there); err != nil || there > 0 {
		return err
	}
	return job.ErrExists
}

// Job implements [job.Store].
func (s *Store) Job(ctx context.Context, id string) (job.Job, error) {
	return one(s.on(ctx), s.job, missing("job", id), "SELECT "+jobColumns+" FROM app_jobs WHERE id = ?", id)
}

func (s *Store) job(row scanner) (j job.Job, err error) {
	var args string
	var key sql.NullString
	if err := row.Scan(&j.ID, &j.Kind, &j.Owner, &j.Subject, &key, &j.State, &args, (*[]byte)(&j.Progress), &j.Error, &j.Attempt, stored{&j.Due}, &j.Server, stored{&j.Created}, stored{&j.Updated}); err != nil {
		return job.Job{}, err
	}
	j.Key = key.String
	j.Args, err = s.unseal(args)
	return j, err
}

// jobs returns the jobs of a query, those whose arguments no key opens without them.
func (s *Store) jobs(ctx context.Context, rest string, args ...any) ([]job.Job, error) {
	return all(s.on(ctx), evenSealed(s.job), "SELECT "+jobColumns+" FROM app_jobs"+rest, args...)
}

// SaveJob implements [job.Store].
func (s *Store) SaveJob(ctx context.Context, j job.Job) (woken, cancelled bool, err error) {
	if j.State != job.Parked {
		cancelled, err = s.on(ctx).saveJob(j)
		return false, cancelled, failed(err)
	}
	err = s.change(ctx, func(t tx) error {
		r, err := t.exec("UPDATE app_jobs SET woken = 0 WHERE id = ? AND server = ? AND woken = 1", j.ID, string(j.Server))
		if err := affected(r, err, "job", j.ID); !fault.Is(err, fault.NotFound) {
			woken = err == nil
			return err
		}
		cancelled, err = t.saveJob(j)
		return err
	})
	return woken, cancelled, failed(err)
}

// saveJob stores the changes of a job that its server leases.
func (t tx) saveJob(j job.Job) (cancelled bool, err error) {
	server := j.Server
	if j.State != job.Ready {
		server = ""
	}
	err = t.row("UPDATE app_jobs SET state = ?, progress = ?, error = ?, attempt = ?, due_at = ?, server = ?, updated_at = ? WHERE id = ? AND server = ? AND "+atWork+" RETURNING cancelled",
		string(j.State), string(j.Progress), j.Error, j.Attempt, micro(j.Due), string(server), micro(j.Updated), j.ID, string(j.Server)).Scan(&cancelled)
	if errors.Is(err, sql.ErrNoRows) {
		err = job.ErrLost
	}
	return cancelled, err
}

// WakeJobs implements [job.Store].
func (s *Store) WakeJobs(ctx context.Context, kind string, subject, server event.ConversationID) (ids []string, found bool, err error) {
	for again := true; again; {
		if ids, found, again, err = s.wakeJobs(ctx, kind, subject, server); err != nil {
			return nil, false, failed(err)
		}
	}
	return ids, found, nil
}

// wakeJobs is WakeJobs until another server changes one of the jobs.
func (s *Store) wakeJobs(ctx context.Context, kind string, subject, server event.ConversationID) (ids []string, found, again bool, err error) {
	type row struct{ id, state, server string }
	rows, err := all(s.on(ctx), func(from scanner) (r row, err error) { err = from.Scan(&r.id, &r.state, &r.server); return r, err },
		"SELECT id, state, server FROM app_jobs WHERE subject = ? AND kind = ? AND "+unfinished+" ORDER BY created_at, id", string(subject), kind)
	if err != nil {
		return nil, false, false, err
	}
	for _, r := range rows {
		leased, woken := r.server, 1
		if r.server == "" { // parked, or left by a server that has closed
			leased, woken = string(server), 0
		}
		if r.server != string(server) {
			result, err := s.on(ctx).exec("UPDATE app_jobs SET server = ?, state = 'ready', woken = ? WHERE id = ? AND state = ? AND server = ?", leased, woken, r.id, r.state, r.server)
			if err := affected(result, err, "job", r.id); fault.Is(err, fault.NotFound) {
				return nil, false, true, nil
			} else if err != nil {
				return nil, false, false, err
			}
		}
		if leased == string(server) {
			ids = append(ids, r.id)
		}
	}
	return ids, len(rows) > 0, false, nil
}

// CancelJob implements [job.Store].
func (s *Store) CancelJob(ctx context.Context, id string) (event.ConversationID, error) {
	return one(s.on(ctx), value[event.ConversationID], missing("job at work", id),
		"UPDATE app_jobs SET cancelled = TRUE, state = CASE server WHEN '' THEN 'cancelled' ELSE state END, error = CASE server WHEN '' THEN ? ELSE error END, updated_at = ? WHERE id = ? AND "+unfinished+" RETURNING server",
		job.ErrCancelled.Error(), micro(time.Now()), id)
}

// JobServers implements [job.Store].
func (s *Store) JobServers(ctx context.Context, kinds []string) ([]event.ConversationID, error) {
	in, args := oneOf(kinds)
	return all(s.on(ctx), value[event.ConversationID], "SELECT DISTINCT server FROM app_jobs WHERE "+atWork+" AND kind "+in, args...)
}

// JobServer implements [job.Store].
func (s *Store) JobServer(ctx context.Context, kind string, subject event.ConversationID) (event.ConversationID, error) {
	return one(s.on(ctx), value[event.ConversationID], missing("job at work of the kind", kind),
		"SELECT server FROM app_jobs WHERE subject = ? AND kind = ? AND "+atWork+" ORDER BY created_at, id LIMIT 1", string(subject), kind)
}

// MoveJobs implements [job.Store].
func (s *Store) MoveJobs(ctx context.Context, from, to event.ConversationID, kinds []string) (ids []string, err error) {
	in, args := oneOf(kinds)
	type row struct {
		created int64
		id      string
	}
	moved, err := all(s.on(ctx), func(from scanner) (r row, err error) { err = from.Scan(&r.created, &r.id); return r, err },
		"UPDATE app_jobs SET server = ? WHERE server = ? AND "+atWork+" AND kind "+in+" RETURNING created_at, id", append([]any{string(to), string(from)}, args...)...)
	slices.SortFunc(moved, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
	})
	for _, r := range moved {
		ids = append(ids, r.id)
	}
	return ids, err
}

// oneOf is the condition of being one of some texts, with its arguments.
func oneOf[T ~string](texts []T) (in string, args []any) {
	if len(texts) == 0 {
		return "IN (NULL)", nil
	}
	for _, text := range texts {
		args = append(args, string(text))
	}
	return "IN (" + marks(len(texts)) + ")", args
}

// The kinds of jobs of the App Server.
const (
	StartKind    = "start_conversation"
	ReplayKind   = "replay"
	CallbackKind = "event_callback"
)

// AddRun stores a job that starts a conversation, or replays in one. [ErrTooManyRuns] if its
// owner has as many conversations at work as the limit says, also if several servers add at
// the same time.
func (s *Store) AddRun(ctx context.Context, j job.Job, l RunLimit) error {
	return s.change(ctx, func(t tx) error {
		if err := t.admitRun(string(j.Owner), l); err != nil {
			return err
		}
		return s.addJob(t, j)
	})
}
