// Package ipython is the tool that runs cells of Python code in a Jupyter kernel.
//
// # Usage
//
//	def := ipython.Definition()
//	exec := ipython.New(ipython.Config{Dir: "/workspace", Env: env})
//
// The kernel is a program, python3 -m ipykernel_launcher, which starts with the first cell. It is
// spoken to by Jupyter's messaging protocol 5.3 over ZeroMQ, on Unix sockets in a directory that
// only this user can open; https://jupyter-client.readthedocs.io/en/stable/messaging.html.
//
// # Concurrency
//
// An executor runs one cell at a time; other calls wait. Each agent has a kernel of its own.
//
// # Failure
//
// Errors of a cell, a missing kernel and the death of the kernel are observations with IsError
// set, whose text says what to do. Output and images are bounded.
package ipython

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/peragent"
)

//go:embed ipython.md
var description string

// Name is the name of the tool.
const Name = "ipython"

// Action is the input of the tool. It is Deft's own: OpenHands' SDK has no such action, and its first
// generation calls it run_ipython.
type Action struct {
	event.ActionBase
	Code    string   `json:"code"`
	Timeout *float64 `json:"timeout,omitempty"` // in seconds; nil for [DefaultTimeout]
}

// ActionKind and ObservationKind are the kinds of the tool's events.
const (
	ActionKind      = "IPythonAction"
	ObservationKind = "IPythonObservation"
)

// Kind implements [event.Action].
func (*Action) Kind() string { return ActionKind }

// Runs implements [event.Runner].
func (a *Action) Runs() string { return a.Code }

// Observation is the result of a cell: its text and its images are the content.
type Observation struct {
	event.ObservationBase
	Code    string `json:"code"`
	Timeout bool   `json:"timeout"` // the cell was interrupted because its time was over
	// Tables are values that are tables, as HTML of the cell, for people: the model has their text.
	// Who shows them takes out everything else.
	Tables []string `json:"tables,omitempty"`
	// Markdown are values in Markdown that have tables, for people.
	Markdown []string `json:"markdown,omitempty"`
}

// Kind implements [event.Observation].
func (*Observation) Kind() string { return ObservationKind }

func init() {
	event.RegisterAction[Action]()
	event.RegisterObservation[Observation]()
}

// Definition describes the tool.
func Definition() *tool.Definition {
	return &tool.Definition{
		Name: Name, Kind: "IPythonTool", ActionKind: ActionKind, ObservationKind: ObservationKind,
		Description: description,
		Annotations: event.Annotations{Title: Name, Destructive: true, OpenWorld: true},
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "code", Type: "string", Required: true, Description: "The Python code of the cell; magics such as %pip and !COMMAND work."},
			{Name: "timeout", Type: "number", Description: "Seconds after which the cell is interrupted; 120 when absent."},
		}},
		Locks:  func(event.Action) []string { return []string{Name} },
		Decode: tool.DecodeInto[Action],
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: Name, Description: "Run Python code in a Jupyter kernel that keeps its variables, with plots.",
	Shown:      tool.Shown{Action: ActionKind, Deed: tool.Deed{Verb: "Run Python", Class: "command"}, Subjects: []string{"code"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New: func(p tool.Place) (tool.Executor, error) {
		return New(Config{Dir: p.Workspace, Env: p.Env, Command: p.Command, Isolated: p.Isolated}), nil
	},
}

// The limits of a cell.
const (
	DefaultTimeout = 120 * time.Second // as of the reference
	MaxTimeout     = 24 * time.Hour
	MaxOutput      = 30_000  // characters of its text
	maxImages      = 5       // shown
	maxImage       = 5 << 20 // of one image, in bytes of base64
	maxTables      = 5       // kept as HTML or Markdown
	maxTable       = 64 << 10
	maxCode        = 1 << 20
)

// Config configures the executor.
type Config struct {
	Dir string // where kernels begin
	// Env is the environment of kernels; python3 is looked for on its PATH.
	Env []string
	// Command changes how programs are started; nil for the ordinary way.
	Command func(path string, args []string) (string, []string)
	// Isolated says that a sandbox is around the kernel: %pip may add to the system's packages.
	Isolated bool
}

// MaxKernels is how many kernels sub-agents have beside the first one. The one that has not been
// used for longest ends when another is needed, with its variables.
const MaxKernels = 4

// New returns the tool's executor. Each agent has a kernel of its own, by the Agent of the call.
func New(c Config) tool.Executor {
	return peragent.New(MaxKernels, func() tool.Executor { return &notebook{c: c, turn: make(chan struct{}, 1)} })
}

// notebook has the kernel of one agent.
type notebook struct {
	c    Config
	turn chan struct{} // holds one while a cell runs

	mu     sync.Mutex // guards the fields below
	closed bool
	kernel *kernel
}

// Execute implements [tool.Executor] for [Action].
func (n *notebook) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*Action)
	if !ok {
		return nil, fault.New(fault.Invalid, "a notebook cannot run a "+c.Action.Kind())
	}
	timeout := DefaultTimeout
	if a.Timeout != nil {
		timeout = time.Duration(*a.Timeout * float64(time.Second))
	}
	switch {
	case strings.TrimSpace(a.Code) == "":
		return refused(a, "The cell is empty."), nil
	case len(a.Code) > maxCode:
		return refused(a, "The cell has more than a million characters. Write the data to a file, and read that."), nil
	case a.Timeout != nil && (*a.Timeout <= 0 || *a.Timeout > MaxTimeout.Seconds()):
		return refused(a, fmt.Sprintf("timeout must be more than 0 and at most %.0f seconds.", MaxTimeout.Seconds())), nil
	}
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
		return refused(a, "The cell was not run: the user has interrupted it before it started."), nil
	}
	return n.run(ctx, a, timeout, c)
}

// run runs a cell, in a fresh kernel if there is none.
func (n *notebook) run(ctx context.Context, a *Action, timeout time.Duration, c tool.Call) (_ event.Observation, err error) {
	note := ""
	if k := n.present(); k != nil && k.ended() {
		note = fmt.Sprintf("[The kernel had ended (%s). This is a fresh one: variables and imports are gone.]\n", k.cause())
		if err := k.close(); err != nil {
			return nil, err
		}
		n.set(nil)
	}
	k := n.present()
	if k == nil {
		if k, err = startKernel(ctx, n.c); err != nil {
			if why, ok := errors.AsType[noKernel](err); ok {
				return refused(a, string(why)), nil
			}
			return nil, err
		}
		if !n.set(k) {
			return nil, errors.Join(errClosed, k.close())
		}
	}
	if given := secretsOf(c.Secrets); given != "" {
		if err := k.quietly(ctx, "__import__('deft_kernel').give({"+given+"})"); err != nil {
			return refused(a, "The cell was not run: its secrets could not be given to the kernel: "+err.Error()), nil
		}
		defer func() {
			if k.quietly(context.WithoutCancel(ctx), "__import__('deft_kernel').take()") != nil {
				err = errors.Join(err, k.close()) // it would keep them
			}
		}()
	}
	r := k.run(ctx, a.Code, timeout, c.Progress)
	obs := &Observation{Code: a.Code, Timeout: r.timedOut, Tables: r.tables, Markdown: r.markdown}
	obs.IsError = r.failed
	obs.Content = append(event.Texts(strings.TrimRight(note+r.text(), "\n")), r.images...)
	if len(obs.Content) == 0 {
		obs.Content = event.Texts("[The cell has no output.]")
	}
	return obs, nil
}

var errClosed = fault.New(fault.Conflict, "the notebook is closed")

func (n *notebook) present() *kernel {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kernel
}

// set sets the kernel; false if the notebook is closed.
func (n *notebook) set(k *kernel) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.kernel = k
	}
	return !n.closed
}

// secretsOf are secrets as the inside of a dictionary of Python, as bytes. They go over the socket only.
func secretsOf(secrets tool.Secrets) string {
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if value := secrets[name]; name != "" && value != "" && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			fmt.Fprintf(&all, "bytes.fromhex('%x'): bytes.fromhex('%x'), ", name, value)
		}
	}
	return all.String()
}

func refused(a *Action, why string) *Observation {
	return &Observation{Code: a.Code, ObservationBase: event.ObservationBase{Content: event.Texts(why), IsError: true}}
}

// Close implements [tool.Executor]: it ends the kernel.
func (n *notebook) Close() error {
	n.mu.Lock()
	n.closed = true
	k := n.kernel
	n.mu.Unlock()
	if k == nil {
		return nil
	}
	return k.close()
}
