package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/schema"
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
	j, err := s.job(s.on(ctx).row("SELECT "+jobColumns+" FROM app_jobs WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("job", id)
	}
	return j, failed(err)
}

func (s *Store) job(row scanner) (j job.Job, err error) {
	var owner, subject, state, args, progress, server string
	var key sql.NullString
	var due, created, updated int64
	if err := row.Scan(&j.ID, &j.Kind, &owner, &subject, &key, &state, &args, &progress, &j.Error, &j.Attempt, &due, &server, &created, &updated); err != nil {
		return job.Job{}, err
	}
	j.Owner, j.Subject, j.Key, j.State, j.Progress = identity.Tenant(owner), event.ConversationID(subject), key.String, job.State(state), json.RawMessage(progress)
	j.Server, j.Due, j.Created, j.Updated = event.ConversationID(server), at(due), at(created), at(updated)
	j.Args, err = s.unseal(args)
	return j, err
}

// jobs returns the jobs of a query, those whose arguments no key opens without them.
func (s *Store) jobs(ctx context.Context, rest string, args ...any) (all []job.Job, err error) {
	rows, err := s.on(ctx).rows("SELECT "+jobColumns+" FROM app_jobs"+rest, args...)
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		j, err := s.job(rows)
		if err != nil && !errors.Is(err, schema.ErrSealed) {
			return nil, failed(err)
		}
		all = append(all, j)
	}
	return all, failed(rows.Err())
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
	var all []row
	rows, err := s.on(ctx).rows("SELECT id, state, server FROM app_jobs WHERE subject = ? AND kind = ? AND "+unfinished+" ORDER BY created_at, id", string(subject), kind)
	if err != nil {
		return nil, false, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.state, &r.server); err != nil {
			return nil, false, false, err
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, false, false, err
	}
	for _, r := range all {
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
	return ids, len(all) > 0, false, nil
}

// CancelJob implements [job.Store].
func (s *Store) CancelJob(ctx context.Context, id string) (event.ConversationID, error) {
	var server string
	err := s.on(ctx).row("UPDATE app_jobs SET cancelled = TRUE, state = CASE server WHEN '' THEN 'cancelled' ELSE state END, error = CASE server WHEN '' THEN ? ELSE error END, updated_at = ? WHERE id = ? AND "+unfinished+" RETURNING server",
		job.ErrCancelled.Error(), micro(time.Now()), id).Scan(&server)
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("job at work", id)
	}
	return event.ConversationID(server), failed(err)
}

// JobServers implements [job.Store].
func (s *Store) JobServers(ctx context.Context, kinds []string) (servers []event.ConversationID, err error) {
	in, args := oneOf(kinds)
	found, err := s.on(ctx).texts("SELECT DISTINCT server FROM app_jobs WHERE "+atWork+" AND kind "+in, args...)
	for _, server := range found {
		servers = append(servers, event.ConversationID(server))
	}
	return servers, failed(err)
}

// JobServer implements [job.Store].
func (s *Store) JobServer(ctx context.Context, kind string, subject event.ConversationID) (event.ConversationID, error) {
	var server string
	err := s.on(ctx).row("SELECT server FROM app_jobs WHERE subject = ? AND kind = ? AND "+atWork+" ORDER BY created_at, id LIMIT 1", string(subject), kind).Scan(&server)
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("job at work of the kind", kind)
	}
	return event.ConversationID(server), failed(err)
}

// MoveJobs implements [job.Store].
func (s *Store) MoveJobs(ctx context.Context, from, to event.ConversationID, kinds []string) (ids []string, err error) {
	in, args := oneOf(kinds)
	err = s.change(ctx, func(t tx) error {
		rows, err := t.rows("UPDATE app_jobs SET server = ? WHERE server = ? AND "+atWork+" AND kind "+in+" RETURNING created_at, id", append([]any{string(to), string(from)}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		var moved []movedJob
		for rows.Next() {
			var m movedJob
			if err := rows.Scan(&m.created, &m.id); err != nil {
				return err
			}
			moved = append(moved, m)
		}
		slices.SortFunc(moved, movedJob.compare)
		for _, m := range moved {
			ids = append(ids, m.id)
		}
		return rows.Err()
	})
	return ids, err
}

// movedJob is a job that another server leases now.
type movedJob struct {
	created int64
	id      string
}

func (m movedJob) compare(other movedJob) int {
	if m.created != other.created {
		return int(m.created - other.created)
	}
	return strings.Compare(m.id, other.id)
}

// oneOf is the condition of being one of some texts, with its arguments.
func oneOf(texts []string) (in string, args []any) {
	if len(texts) == 0 {
		return "IN (NULL)", nil
	}
	for _, text := range texts {
		args = append(args, text)
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
