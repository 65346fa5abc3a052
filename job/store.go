package job

import (
	"context"

	"github.com/deft-dev/deft/event"
)

// Store keeps jobs. Package server/appserver/store has one for SQLite and PostgreSQL;
// package jobtest has the conformance suite.
type Store interface {
	// AddJobs stores new jobs, all or none. Jobs whose id exists stay as they are.
	// [ErrExists] if another job that has not ended has the kind and the key of one.
	AddJobs(ctx context.Context, all ...Job) error
	// Job returns a job. NotFound if there is none, schema.ErrSealed if no key opens its
	// arguments.
	Job(ctx context.Context, id string) (Job, error)
	// SaveJob stores State, Progress, Error, Attempt, Due and Updated of a job that its
	// Server leases; a job that parks or has ended is leased by nobody. cancelled reports
	// whether its end was asked for. [ErrLost] if the server does not lease the job. A job
	// that parks is not stored if [Store.WakeJobs] was called for it since the last
	// [Store.SaveJob]: then woken is true.
	SaveJob(ctx context.Context, j Job) (woken, cancelled bool, err error)
	// WakeJobs leases the parked jobs of a kind and a subject for a server, and marks those
	// that other servers lease as woken. ids are the jobs that the server leases then; found
	// reports whether there is any job that has not ended.
	WakeJobs(ctx context.Context, kind string, subject, server event.ConversationID) (ids []string, found bool, err error)
	// CancelJob asks for the end of a job. One that no server leases ends with it. It
	// returns the server that leases the job. NotFound if it has ended.
	CancelJob(ctx context.Context, id string) (server event.ConversationID, err error)
	// JobServers returns the servers that lease jobs of some kinds; "" if some are ready and
	// leased by nobody.
	JobServers(ctx context.Context, kinds []string) ([]event.ConversationID, error)
	// JobServer returns the server that leases the first ready job of a kind and a subject.
	// NotFound if there is none.
	JobServer(ctx context.Context, kind string, subject event.ConversationID) (event.ConversationID, error)
	// MoveJobs leases the ready jobs of some kinds for another server, and returns their ids
	// in the order in which they were added.
	MoveJobs(ctx context.Context, from, to event.ConversationID, kinds []string) (ids []string, err error)
}

// Lock makes a server known to others as long as it lives. session.Lock is one.
type Lock interface {
	// Acquire locks an id until release is called or the process ends. The error is of kind
	// Conflict if it is locked already.
	Acquire(ctx context.Context, id event.ConversationID) (release func(), err error)
}
