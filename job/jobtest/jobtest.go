// Package jobtest is the conformance suite of stores of jobs, for every implementation of
// [job.Store].
//
// # Usage
//
//	func TestJobs(t *testing.T) {
//		jobtest.Run(t, func(t *testing.T) func() job.Store { … })
//	}
//
// # Concurrency and failure
//
// The tests run in parallel. They report through t only.
package jobtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/job"
)

// The servers, the subjects and the kinds of the tests.
const (
	one   event.ConversationID = "00000000-0000-4000-8000-000000000001"
	other event.ConversationID = "00000000-0000-4000-8000-000000000002"
	about event.ConversationID = "00000000-0000-4000-8000-0000000000aa"
)

var kinds = []string{"a", "b"}

// Run runs the suite. set returns a function that opens stores on one empty database, each
// as another server does.
func Run(t *testing.T, set func(t *testing.T) (open func() job.Store)) {
	for name, test := range map[string]func(*testing.T, job.Store, job.Store){
		"Add": testAdd, "Save": testSave, "Park": testPark, "Wake": testWake, "Cancel": testCancel, "Move": testMove, "ManyAtOnce": testManyAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := set(t)
			test(t, open(), open())
		})
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func wantError(t *testing.T, want, got error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// made is a job that a server leases.
func made(id string, server event.ConversationID, s job.State) job.Job {
	at := time.Unix(1_700_000_000, 0).UTC()
	return job.Job{
		ID: id, Kind: "a", Owner: "alice", Subject: about, State: s, Args: json.RawMessage(`{"n": 1}`), Progress: json.RawMessage(`{}`), Server: server, Created: at, Updated: at,
	}
}

func read(t *testing.T, s job.Store, id string) job.Job {
	t.Helper()
	j, err := s.Job(t.Context(), id)
	must.Succeed(t, err)
	return j
}

func testAdd(t *testing.T, s, twin job.Store) {
	first := made("1", one, job.Ready)
	first.Key, first.Due = "k", first.Created.Add(time.Hour)
	must.Succeed(t, s.AddJobs(t.Context(), first))
	same(t, first, read(t, twin, "1"))
	changed := first
	changed.Owner = "bob"
	must.Succeed(t, twin.AddJobs(t.Context(), changed)) // it is there
	same(t, first, read(t, s, "1"))

	second := made("2", one, job.Ready)
	second.Key = "k"
	third := made("3", one, job.Ready)
	wantError(t, job.ErrExists, twin.AddJobs(t.Context(), third, second))
	if _, err := s.Job(t.Context(), "3"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a part was added: %v", err)
	}
	second.Kind = "b"
	must.Succeed(t, s.AddJobs(t.Context(), second, third)) // of another kind, and without a key
	must.Succeed(t, s.AddJobs(t.Context(), made("4", one, job.Ready)))
	first.State = job.Done
	_, _, err := s.SaveJob(t.Context(), first)
	must.Succeed(t, err)
	again := made("5", one, job.Ready)
	again.Key = "k"
	must.Succeed(t, s.AddJobs(t.Context(), again)) // the first one has ended
}

func testSave(t *testing.T, s, twin job.Store) {
	j := made("1", one, job.Ready)
	must.Succeed(t, s.AddJobs(t.Context(), j))
	j.Progress, j.Attempt, j.Due, j.Updated = json.RawMessage(`{"at": 2}`), 3, j.Created.Add(time.Minute), j.Created.Add(time.Second)
	_, cancelled, err := s.SaveJob(t.Context(), j)
	if must.Succeed(t, err); cancelled {
		t.Error("it counts as cancelled")
	}
	same(t, j, read(t, twin, "1"))
	theirs := j
	theirs.Server, theirs.State = other, job.Failed
	_, _, err = twin.SaveJob(t.Context(), theirs)
	wantError(t, job.ErrLost, err)
	j.State, j.Error = job.Failed, "why"
	_, _, err = s.SaveJob(t.Context(), j)
	must.Succeed(t, err)
	ended := read(t, twin, "1")
	j.Server = ""
	same(t, j, ended)
	j.Server = one
	_, _, err = s.SaveJob(t.Context(), j)
	wantError(t, job.ErrLost, err)
	_, _, err = s.SaveJob(t.Context(), made("none", one, job.Done))
	wantError(t, job.ErrLost, err)
}

func testPark(t *testing.T, s, twin job.Store) {
	j := made("1", one, job.Ready)
	must.Succeed(t, s.AddJobs(t.Context(), j))
	ids, found, err := twin.WakeJobs(t.Context(), "a", about, other)
	if must.Succeed(t, err); len(ids) > 0 || !found {
		t.Errorf("another server's job: %v, %v", ids, found)
	}
	j.State = job.Parked
	woken, _, err := s.SaveJob(t.Context(), j)
	if must.Succeed(t, err); !woken {
		t.Error("it parks although it was woken")
	}
	if got := read(t, s, "1"); got.State != job.Ready || got.Server != one {
		t.Errorf("it is %s, leased by %q", got.State, got.Server)
	}
	woken, _, err = s.SaveJob(t.Context(), j)
	if must.Succeed(t, err); woken {
		t.Error("it was woken once")
	}
	if got := read(t, s, "1"); got.State != job.Parked || got.Server != "" {
		t.Errorf("it is %s, leased by %q", got.State, got.Server)
	}
}

func testWake(t *testing.T, s, twin job.Store) {
	_, found, err := s.WakeJobs(t.Context(), "a", about, one)
	if must.Succeed(t, err); found {
		t.Error("there is a job")
	}
	ended, elsewhere := made("ended", one, job.Ready), made("elsewhere", "", job.Parked)
	elsewhere.Subject = other
	must.Succeed(t, s.AddJobs(t.Context(), ended, elsewhere, made("mine", one, job.Ready), made("parked", "", job.Parked), made("left", "", job.Ready)))
	ended.State = job.Done
	_, _, err = s.SaveJob(t.Context(), ended)
	must.Succeed(t, err)
	ids, found, err := s.WakeJobs(t.Context(), "a", about, one)
	if must.Succeed(t, err); !found {
		t.Error("there is no job")
	}
	same(t, []string{"left", "mine", "parked"}, ids)
	if got := read(t, twin, "parked"); got.State != job.Ready || got.Server != one {
		t.Errorf("it is %s, leased by %q", got.State, got.Server)
	}
	ids, _, err = s.WakeJobs(t.Context(), "b", about, one)
	if must.Succeed(t, err); len(ids) > 0 {
		t.Errorf("of another kind: %v", ids)
	}
}

func testCancel(t *testing.T, s, twin job.Store) {
	must.Succeed(t, s.AddJobs(t.Context(), made("1", one, job.Ready), made("2", "", job.Parked)))
	server, err := twin.CancelJob(t.Context(), "1")
	if must.Succeed(t, err); server != one {
		t.Errorf("%q leases it", server)
	}
	_, cancelled, err := s.SaveJob(t.Context(), made("1", one, job.Ready))
	if must.Succeed(t, err); !cancelled {
		t.Error("its server is not told")
	}
	server, err = s.CancelJob(t.Context(), "2")
	if must.Succeed(t, err); server != "" {
		t.Errorf("%q leases it", server)
	}
	if got := read(t, s, "2"); got.State != job.Cancelled || got.Error == "" {
		t.Errorf("it is %s, %q", got.State, got.Error)
	}
	for _, id := range []string{"2", "none"} {
		if _, err := s.CancelJob(t.Context(), id); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func testMove(t *testing.T, s, twin job.Store) {
	servers, err := s.JobServers(t.Context(), kinds)
	if must.Succeed(t, err); len(servers) > 0 {
		t.Errorf("servers: %v", servers)
	}
	unknown, first, second := made("unknown", one, job.Ready), made("first", one, job.Ready), made("second", one, job.Ready)
	unknown.Kind, second.Created, second.Kind = "c", second.Created.Add(-time.Second), "b"
	must.Succeed(t, s.AddJobs(t.Context(), unknown, first, second, made("theirs", other, job.Ready), made("parked", "", job.Parked)))
	servers, err = s.JobServers(t.Context(), kinds)
	if must.Succeed(t, err); len(servers) != 2 {
		t.Errorf("servers: %v", servers)
	}
	server, err := s.JobServer(t.Context(), "b", about)
	if must.Succeed(t, err); server != one {
		t.Errorf("%q leases it", server)
	}
	ids, err := twin.MoveJobs(t.Context(), one, other, kinds)
	must.Succeed(t, err)
	same(t, []string{"second", "first"}, ids)
	_, _, err = s.SaveJob(t.Context(), first)
	wantError(t, job.ErrLost, err)
	ids, err = s.MoveJobs(t.Context(), one, other, kinds)
	if must.Succeed(t, err); len(ids) > 0 {
		t.Errorf("moved twice: %v", ids)
	}
	if got := read(t, s, "unknown"); got.Server != one {
		t.Errorf("an unknown kind has moved to %q", got.Server)
	}
	if _, err := s.JobServer(t.Context(), "a", one); !fault.Is(err, fault.NotFound) {
		t.Errorf("there is a job of another subject: %v", err)
	}
}

// testManyAtOnce: of servers that wake a job at the same time one leases it, and of servers
// that add a key at the same time one does.
func testManyAtOnce(t *testing.T, s, twin job.Store) {
	const tries = 8
	must.Succeed(t, s.AddJobs(t.Context(), made("parked", "", job.Parked)))
	stores := []job.Store{s, twin}
	leased, added := make([]int, tries), make([]error, tries)
	var all sync.WaitGroup
	for i := range tries {
		all.Go(func() {
			server := event.ConversationID(fmt.Sprintf("00000000-0000-4000-8000-0000000001%02d", i))
			ids, _, err := stores[i%2].WakeJobs(t.Context(), "a", about, server)
			must.Report(t, err)
			leased[i] = len(ids)
			j := made(fmt.Sprint("added ", i), server, job.Ready)
			j.Kind, j.Key = "b", "k"
			added[i] = stores[i%2].AddJobs(t.Context(), j)
		})
	}
	all.Wait()
	leases, adds := 0, 0
	for i := range tries {
		leases += leased[i]
		if added[i] == nil {
			adds++
		} else {
			wantError(t, job.ErrExists, added[i])
		}
	}
	if leases != 1 || adds != 1 {
		t.Errorf("%d leases and %d jobs with the key", leases, adds)
	}
}
