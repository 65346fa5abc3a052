package store_test

import (
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/job/jobtest"
	"github.com/deft-dev/deft/server/appserver/store"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	for name, empty := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobtest.Run(t, func(t *testing.T) func() job.Store {
				d := empty(t)
				return func() job.Store { return d.store(t) }
			})
		})
	}
}

// startJob is the job of a start task, leased by a server.
func startJob(t store.Task) job.Job {
	j := job.Job{
		ID: t.ID, Kind: store.StartKind, Owner: identity.Tenant(t.Owner), Subject: t.Conversation, Key: t.Owner + "/" + string(t.Conversation), State: job.Ready,
		Args: t.Request, Server: id(9999), Created: t.Created, Updated: t.Updated,
	}
	if j.Args == nil {
		j.Args = json.RawMessage("{}")
	}
	j.Progress, _ = json.Marshal(t.Progress()) // never fails
	return j
}

// callbackJob is the job of a callback, leased by a server.
func callbackJob(c store.Callback) job.Job {
	j := job.Job{
		ID: string(c.ID), Kind: store.CallbackKind, Owner: identity.Tenant(c.Owner), Subject: c.Conversation, State: job.Ready, Args: c.Processor, Server: id(9999),
		Created: c.Created, Updated: c.Updated,
	}
	j.Progress, _ = json.Marshal(store.CallbackProgress{Kind: c.Kind, Seen: c.Seen}) // never fails
	return j
}
