// Package job does work that must happen once, later, or on another server: starts of
// conversations, replays, event callbacks. A [Job] is a row of a [Store]. An [Engine] does
// the jobs of one server, by the [Kind] of each.
//
// # Usage
//
//	e := job.New(job.Options{Store: rows, Lock: locks, Log: log})
//	e.Register(job.Kind{Name: "reply", Attempts: 5, Handler: replies})
//	err := e.Start(ctx)                                          // jobs of servers that have ended
//	j, err := e.Add(ctx, job.Request{Kind: "reply", Args: args}, nil) // and returns while it is done
//	…
//	e.Close()                                                    // jobs continue at the next Start
//
// # Who does a job
//
// A job is leased by a server from the moment it is added until it ends, through all its
// attempts and pauses. The server holds one [Lock] as long as it lives. When the lock is
// free because the server has ended, another server takes its jobs over ([Engine.Orphaned],
// [Engine.Start]). A server that has lost its lock stops its jobs ([Engine.Lost]). Each
// change of a job names the server, so a server that has lost a job stores nothing.
//
// Nothing polls: a job runs when it is added, when it is due, when a run of it has asked
// for another attempt, or when [Engine.Wake] wakes it. An idle engine does no work.
//
// # Effects on other systems
//
// A job is stored before its handler runs: it is the outbox entry of its effect. A handler
// passes [Job.ID] as the idempotency key of the effect and stores the result with
// [Run.Save], which stores it once. A server that is killed between the effect and its
// record leads to another run with the same key; [Kind.EndsWithServer] excludes that.
//
// # Concurrency
//
// An Engine is safe for concurrent use. Each job at work has a goroutine, which Close waits
// for. One run of a job is at work at a time, on all servers together.
//
// # Failure
//
// Errors of the store have its kinds. Add and Save return when the job is stored.
package job

import (
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
)

// State is the state of a job.
type State string

// The states of jobs.
const (
	Ready     State = "ready"     // to be done, or at work
	Parked    State = "parked"    // has nothing to do until it is woken
	Done      State = "done"      // its handler has returned nil
	Failed    State = "failed"    // it has an Error
	Cancelled State = "cancelled" // by Cancel
)

// Ended reports whether the job is never run again.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// Job is work of a kind.
type Job struct {
	ID    string
	Kind  string
	Owner identity.Tenant // who it works for
	// Subject is the conversation that the job is about, "" for none. The job is deleted
	// with it.
	Subject event.ConversationID
	// Key is unique among the jobs of the kind that have not ended; "" for no key.
	Key   string
	State State
	// Args are JSON, which the store seals. They never change.
	Args json.RawMessage
	// Progress is JSON of the kind: how far the job is, and its result at the end.
	Progress json.RawMessage
	// Error says why the job has failed.
	Error string
	// Attempt counts failed runs in a row. A handler that has moved on sets it to 0.
	Attempt int
	// Due is when the job may run; zero for at once.
	Due time.Time
	// Server is the id of the server's lock that leases the job, "" for none.
	Server           event.ConversationID
	Created, Updated time.Time
}

// Errors of jobs.
var (
	// ErrExists refuses a second job with a key.
	ErrExists = fault.New(fault.Conflict, "there is such a job at work already")
	// ErrLost says that the job is another server's, has ended, or is deleted: the run ends
	// and has no effect on the job.
	ErrLost = fault.New(fault.Conflict, "the job is done elsewhere, or is deleted")
	// ErrCancelled is the cause of the end of a run's context when the job is cancelled.
	ErrCancelled = fault.New(fault.Canceled, "the job was cancelled")
	// ErrPark is a handler's result when the job has nothing to do until it is woken.
	ErrPark = fault.New(fault.Conflict, "the job has nothing to do now")
)

// again asks for another attempt.
type again struct{ error }

func (a again) Unwrap() error { return a.error }

// Again returns err as an error that asks for another run after a pause. The job fails with
// err when its kind allows no further attempt.
func Again(err error) error { return again{err} }
