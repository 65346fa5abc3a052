package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// levelNone is the level of a sandbox that isolates nothing.
const levelNone = "none"

// trySandbox tries everything that must be forbidden.
func (r *Report) trySandbox(ctx context.Context, h Host) Check {
	if h.SandboxError != nil {
		return failed("sandbox", fault.ExitError, h.SandboxError)
	}
	began := time.Now()
	rep, attempts, err := h.Sandbox.Doctor(ctx)
	if err != nil {
		return failed("sandbox", fault.ExitError, err)
	}
	r.Isolation, r.Attempts, r.TriedMS = &rep, attempts, float64(time.Since(began).Microseconds())/1000
	c := Check{Name: "sandbox", State: OK, Text: rep.Level + ": " + strings.Join(rep.Features, ", ")}
	if rep.Level == levelNone {
		c.State, c.Text = Warning, "none: commands have all rights of the user"
		c.Next = "leave out --sandbox none"
		return c
	}
	var worked []string
	for _, a := range attempts {
		if !a.OK {
			worked = append(worked, a.Name)
		}
	}
	if len(worked) > 0 {
		c.State, c.Exit = Failed, fault.ExitError
		c.Text = fmt.Sprintf("%s: %d of %d forbidden things worked: %s", rep.Level, len(worked), len(attempts), strings.Join(worked, ", "))
		c.Next = "do not give untrusted tasks to Deft on this machine; report this as a security problem"
	}
	return c
}

// Trial tries the sandboxes of a provider of any class. A provider that implements
// [sandbox.Prober] or [sandbox.AccessProber] says more; of others a sandbox is started.
type Trial struct {
	Provider sandbox.Provider
	// Grants has the directories that are granted, in Readable and Writable.
	Grants sandbox.Spec
	// Container is the sandbox's container. Its image must be there.
	Container sandbox.Container
}

// Doctor implements [Sandbox].
func (t Trial) Doctor(ctx context.Context) (rep sandbox.Report, _ []sandbox.Attempt, err error) {
	if p, ok := t.Provider.(sandbox.Prober); ok {
		return p.Doctor(ctx)
	}
	self, err := os.Executable()
	if err != nil {
		return rep, nil, fmt.Errorf("find the deft binary: %w", err)
	}
	dir, err := os.MkdirTemp("", "deft-doctor-")
	if err != nil {
		return rep, nil, fault.Wrap(err, fault.Full, "make a directory to try")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	id := "doctor-" + rand.Text()[:12]
	defer func() {
		if rerr := t.Provider.Remove(context.WithoutCancel(ctx), id); err == nil { // else it is the same trouble
			err = rerr
		}
	}()
	box, err := t.Provider.Start(ctx, sandbox.Spec{
		ID: id, Workspace: dir, Argv: []string{self, "action-server", "--workspace", dir, "--grace", "1m"}, Container: t.Container,
	})
	if err != nil {
		return rep, nil, err
	}
	return box.Report(), nil, nil
}

// Access implements [Sandbox]. It says nothing of sandboxes with programs of their own.
func (t Trial) Access(ctx context.Context, paths []string) ([]sandbox.Access, error) {
	if p, ok := t.Provider.(sandbox.AccessProber); ok {
		return p.Access(ctx, t.Grants, paths)
	}
	return nil, nil
}

// checkEngine asks the engine for its kind and version.
func (h Host) checkEngine(ctx context.Context) []Check {
	if h.Engine == nil {
		return nil
	}
	facts, err := h.Engine.Describe(ctx)
	if err != nil {
		return []Check{failed("engine", fault.ExitError, err)}
	}
	var parts []string
	var items []Item
	for _, f := range facts {
		parts = append(parts, f.Name+" "+f.Value)
		items = append(items, Item{Name: f.Name, Value: f.Value})
	}
	return []Check{{Name: "engine", State: OK, Text: strings.Join(parts, "; "), Items: items}}
}
