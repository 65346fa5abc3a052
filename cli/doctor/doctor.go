// Package doctor checks this machine, for `deft doctor`: the store, the disk, user
// namespaces, the model and its key, programs, toolchains, caches, proxies and the
// sandbox.
//
// # Usage
//
//	report := doctor.Examine(ctx, doctor.Host{Data: dir, Store: store, Env: os.Getenv, …})
//	err := report.Print(os.Stdout, color)
//	os.Exit(report.ExitCode())
//
// # Concurrency
//
// Examine may be called by several goroutines at once.
//
// # Failure
//
// Examine returns no error: a failure is a [Check] whose State is [Failed], with
// the exit code that it stands for. Neither keys nor passwords get into a report.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// State says how it is about something.
type State string

// States of a check.
const (
	OK      State = "ok"
	Warning State = "warning" // worth knowing; the exit code does not change
	Failed  State = "failed"
)

// Check is the result for one thing.
type Check struct {
	// Name is short and stable: data, disk, user namespaces, model, key, the name
	// of a program, toolchains, caches, proxies, engine, sandbox.
	Name  string `json:"name"`
	State State  `json:"state"`
	// Text is the finding, Next the user's next step; "" for none.
	Text string `json:"text"`
	Next string `json:"next,omitempty"`
	// Items are the single things that Text lists.
	Items []Item `json:"items,omitempty"`
	// Exit is the exit code that a failed check stands for (package fault).
	Exit int `json:"exit_code,omitempty"`
}

// Item is one of several things of a check: a toolchain, a cache, a proxy, a
// setting of the kernel.
type Item struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Sandbox says how commands in the sandbox can use it: one of "writable",
	// "read-only" and "hidden"; "" if that was not tried.
	Sandbox string `json:"in_sandbox,omitempty"`
}

// Sandbox has the trials of a sandbox; see [Trial].
type Sandbox interface {
	// Doctor tries everything that must be forbidden.
	Doctor(ctx context.Context) (sandbox.Report, []sandbox.Attempt, error)
	// Access tries to read and to change paths.
	Access(ctx context.Context, paths []string) ([]sandbox.Access, error)
}

// Host is the machine that Examine looks at.
type Host struct {
	// Data is the directory of Deft's data, absolute.
	Data string
	// Store is the event store in it; StoreError says why it cannot be opened.
	Store      Store
	StoreError error
	// Env returns variables of the environment; PATH, HOME, and the variables of
	// proxies and of toolchains' caches are read.
	Env func(string) string
	// Root says that this is the root user, whom the kernel's settings do not bind.
	Root bool
	// Settings is the directory of the kernel's settings; default /proc/sys.
	Settings string
	Model    Model
	// Sandbox is tried; SandboxError says why there is none.
	Sandbox      Sandbox
	SandboxError error
	// Layers has the layers over caches; nil where sandboxes have none.
	Layers sandbox.CacheLister
	// Engine describes the engine of the sandboxes; nil where nothing beside this
	// program runs them.
	Engine sandbox.Describer
}

// Report is everything that was found out.
type Report struct {
	Checks []Check `json:"checks"`
	// Isolation describes the sandbox's isolation; nil if none could be started.
	Isolation *sandbox.Report `json:"sandbox,omitempty"`
	// Attempts are the forbidden things that were tried in it, for TriedMS
	// milliseconds.
	Attempts []sandbox.Attempt `json:"attempts,omitempty"`
	TriedMS  float64           `json:"tried_ms,omitempty"`
}

// Examine looks at everything and really tries everything that must be forbidden.
// It makes no request to a model. The store is read for at most ten seconds.
func Examine(ctx context.Context, h Host) Report {
	var r Report
	inside := r.trySandbox(ctx, h)
	tools, caches := toolchains(h.Env), caches(h.Env)
	var access map[string]string
	var accessErr error
	if r.Isolation != nil && h.Engine == nil { // a container has the tools of its image
		access, accessErr = tryAccess(ctx, h.Sandbox, slices.Concat(tools, caches))
	}
	r.Checks = slices.Concat(
		[]Check{h.checkStore(ctx), checkDisk(h.Data, spaceAt(h.Data)), h.checkNamespaces(r.Isolation)},
		h.Model.checks(), programs(h.Env),
		[]Check{checkToolchains(tools, access, accessErr), h.checkCaches(ctx, caches, access), checkProxies(h.Env)},
		h.checkEngine(ctx), []Check{inside},
	)
	return r
}

// dataCheck is the name of the check of the store.
const dataCheck = "data"

// severity orders exit codes, the worst trouble first: on a full disk nothing can be
// recorded, without a sandbox nothing can run.
var severity = []int{fault.ExitStorage, fault.ExitError, fault.ExitRefused, fault.ExitUsage}

// ExitCode returns the code of the worst failed check, 0 if there is none. Without a
// store nothing works, and every command ends with the code of its failure.
func (r Report) ExitCode() int {
	for _, c := range r.Checks {
		if c.Name == dataCheck && c.State == Failed {
			return c.Exit
		}
	}
	for _, code := range severity {
		if slices.ContainsFunc(r.Checks, func(c Check) bool { return c.State == Failed && c.Exit == code }) {
			return code
		}
	}
	return fault.ExitOK
}

// failed is a check that failed with an error.
func failed(name string, code int, err error) Check {
	return Check{Name: name, State: Failed, Text: err.Error(), Next: fault.HintOf(err), Exit: code}
}

// Print writes the report for a person: a line for each check with a mark, the next
// step below it, and the trials in the sandbox. It returns w's first error.
func (r Report) Print(w io.Writer, color bool) error {
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s %-16s %s\n", mark(c.State, color), c.Name, console.Line(c.Text))
		if c.Next != "" {
			fmt.Fprintf(&b, "  %-16s → %s\n", "", console.Line(c.Next))
		}
	}
	if r.Isolation != nil {
		for _, m := range r.Isolation.Missing {
			fmt.Fprintf(&b, "  %-16s not in force: %s\n", m.Feature, console.Line(m.Reason))
		}
		if len(r.Isolation.Bounds) > 0 {
			b.WriteString("  a sandbox may use, without --memory, --pids and --cpus:\n")
		}
		for _, bound := range r.Isolation.Bounds {
			fmt.Fprintf(&b, "  - %-20s %s\n", bound.Resource, console.Line(bound.Value))
		}
		if len(r.Attempts) > 0 {
			fmt.Fprintf(&b, "  tried %d forbidden things inside:\n", len(r.Attempts))
		}
		for _, a := range r.Attempts {
			fmt.Fprintf(&b, "  %s %-20s %s\n", console.Mark(a.OK, color), a.Name, console.Line(a.Detail))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mark(s State, color bool) string {
	if s == Warning {
		return console.WarningMark(color)
	}
	return console.Mark(s == OK, color)
}
