package job_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/job/jobtest"
)

// memory is a store for the tests of the engine.
type memory struct {
	mu     sync.Mutex
	all    map[string]*row
	broken error // the next SaveJob fails
	// answered is called before the next WakeJobs returns.
	answered func()
}

type row struct {
	job.Job
	woken, cancelled bool
}

func newMemory() *memory { return &memory{all: map[string]*row{}} }

func TestMemory(t *testing.T) {
	t.Parallel()
	jobtest.Run(t, func(*testing.T) func() job.Store {
		m := newMemory()
		return func() job.Store { return m }
	})
}

// chosen returns the jobs that satisfy a condition, in the order in which they were added.
func (m *memory) chosen(is func(*row) bool) (all []*row) {
	for _, r := range m.all {
		if is(r) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *row) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all
}

func (m *memory) AddJobs(_ context.Context, all ...job.Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range all {
		if m.all[j.ID] == nil && j.Key != "" && len(m.chosen(func(r *row) bool { return r.Kind == j.Kind && r.Key == j.Key && !r.State.Ended() })) > 0 {
			return job.ErrExists
		}
	}
	for _, j := range all {
		if m.all[j.ID] == nil {
			m.all[j.ID] = &row{Job: j}
		}
	}
	return nil
}

func (m *memory) Job(_ context.Context, id string) (job.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all[id]
	if r == nil {
		return job.Job{}, fault.New(fault.NotFound, "there is no job "+id)
	}
	return r.Job, nil
}

func (m *memory) SaveJob(_ context.Context, j job.Job) (woken, cancelled bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.broken; err != nil {
		m.broken = nil
		return false, false, err
	}
	r := m.all[j.ID]
	if r == nil || r.Server != j.Server || r.State != job.Ready {
		return false, false, job.ErrLost
	}
	if j.State == job.Parked && r.woken {
		r.woken = false
		return true, false, nil
	}
	if r.Job = j; j.State != job.Ready {
		r.Server = ""
	}
	return false, r.cancelled, nil
}

func (m *memory) WakeJobs(_ context.Context, kind string, subject, server event.ConversationID) (ids []string, found bool, err error) {
	m.mu.Lock()
	if answered := m.answered; answered != nil { // once, when the answer is known
		m.answered = nil
		defer answered()
	}
	defer m.mu.Unlock()
	all := m.chosen(func(r *row) bool { return r.Kind == kind && r.Subject == subject && !r.State.Ended() })
	for _, r := range all {
		switch r.Server {
		case "":
			r.State, r.Server, r.woken = job.Ready, server, false
		case server:
		default:
			r.woken = true
			continue
		}
		ids = append(ids, r.ID)
	}
	return ids, len(all) > 0, nil
}

func (m *memory) CancelJob(_ context.Context, id string) (event.ConversationID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all[id]
	if r == nil || r.State.Ended() {
		return "", fault.New(fault.NotFound, "there is no job "+id)
	}
	if r.cancelled = true; r.Server == "" {
		r.State, r.Error = job.Cancelled, job.ErrCancelled.Error()
	}
	return r.Server, nil
}

// atWork selects the ready jobs of some kinds.
func atWork(kinds ...string) func(*row) bool {
	return func(r *row) bool { return r.State == job.Ready && slices.Contains(kinds, r.Kind) }
}

func (m *memory) JobServers(_ context.Context, kinds []string) (servers []event.ConversationID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.chosen(atWork(kinds...)) {
		if !slices.Contains(servers, r.Server) {
			servers = append(servers, r.Server)
		}
	}
	return servers, nil
}

func (m *memory) JobServer(_ context.Context, kind string, subject event.ConversationID) (event.ConversationID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.chosen(atWork(kind)) {
		if r.Subject == subject {
			return r.Server, nil
		}
	}
	return "", fault.New(fault.NotFound, "there is no job of the kind "+kind)
}

func (m *memory) MoveJobs(_ context.Context, from, to event.ConversationID, kinds []string) (ids []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.chosen(atWork(kinds...)) {
		if r.Server == from {
			r.Server = to
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}
