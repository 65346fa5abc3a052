package acpagent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// ready returns the program with its session, which it starts if it does not run, and the notes of
// it.
func (a *Agent) ready(ctx context.Context, t agent.Turn, n notes) (*program, notes, error) {
	a.mu.Lock()
	p, closed := a.program, a.closed
	a.mu.Unlock()
	if closed {
		return nil, n, errClosed
	}
	if p != nil && p.gone() {
		a.drop()
		p = nil
	}
	same := (n.Conversation == a.cfg.Conversation || n.Conversation == "") && knows(t.State.View, n.Prompted)
	if p != nil && same {
		return p, n, nil
	}
	a.drop() // a session of another history
	p, err := a.start(ctx, &n, same, t.State.View)
	if err != nil {
		return nil, n, err
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		p.close()
		return nil, n, errClosed
	}
	a.program = p
	a.mu.Unlock()
	if p.why != "" {
		err = t.Emit(note(p.why), n.event(a.cfg.Mask))
	} else {
		err = t.Emit(n.event(a.cfg.Mask))
	}
	return p, n, err
}

var errStartup = errors.New("the program was not ready in time")

// start starts the program with its session, within the limit of the settings.
func (a *Agent) start(ctx context.Context, n *notes, same bool, view []event.Event) (*program, error) {
	limit := time.Duration(a.cfg.Fields.StartupTimeout * float64(time.Second))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStartup)
	defer cancel()
	p, err := a.launch(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, p.close) // a program that reads nothing has messages wait
	err = p.begin(ctx, n, same, view)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		return p, nil
	}
	if errors.Is(context.Cause(ctx), errStartup) {
		err = p.failed(codeStartup, fault.New(fault.Timeout, a.name()+" was not ready within "+limit.String()).
			Hint("does it speak the Agent Client Protocol, and does it wait for a login? acp_startup_timeout is the limit"))
	}
	p.close()
	return nil, err
}

// launch starts the program.
func (a *Agent) launch(ctx context.Context) (*program, error) {
	env := a.environment(ctx)
	var proc tool.Process
	var files secretFiles
	var err error
	for _, argv := range a.commands() {
		prog := tool.Program{Command: argv[0], Args: argv[1:], Dir: a.cfg.Workspace, Env: env}
		if known, ok := a.cfg.Fields.Known(); ok {
			prog.Network = a.cfg.Network(known.Network(argv))
		}
		files = a.withFiles(ctx, &prog)
		if proc, err = a.cfg.Programs.StartProgram(ctx, prog); !fault.Is(err, fault.NotFound) {
			break
		}
	}
	if err != nil {
		hint := cmp.Or(fault.HintOf(err), "is it installed where the conversation's commands run?")
		if known, ok := a.cfg.Fields.Known(); ok && fault.Is(err, fault.NotFound) {
			hint = "install it in the sandbox's image or on this machine: npm install -g " + strings.Join(known.Packages, " ")
		}
		return nil, failure(codeSpawn, fault.New(fault.KindOf(err), "start "+a.name()+": "+a.cfg.Mask(err.Error())).Hint(hint))
	}
	p := &program{a: a, proc: proc, files: files, lines: newLines(proc)}
	p.terminals = newTerminals(a)
	p.active.Store(time.Now().UnixNano())
	p.conn = acp.NewConnection(p.handle, p, p.lines)
	p.conn.SetLogger(quiet)
	close(p.lines.ready)
	return p, nil
}

// commands are the commands that may start the program, the best one first: one that is installed,
// before npx fetches it.
func (a *Agent) commands() [][]string {
	own := slices.Concat(a.cfg.Fields.Command, a.cfg.Fields.Args)
	known, ok := a.cfg.Fields.Known()
	if !ok || !slices.Equal(a.cfg.Fields.Command, known.Command()) {
		return [][]string{own}
	}
	return [][]string{slices.Concat([]string{known.Binary}, known.Args, a.cfg.Fields.Args), own}
}

// environment are the variables of the program beside the commands' own: all secrets of the
// conversation, since nobody knows which ones it reads.
func (a *Agent) environment(ctx context.Context) map[string]string {
	env := maps.Clone(a.cfg.Secrets(ctx))
	if env == nil {
		env = map[string]string{}
	}
	for _, f := range a.cfg.Fields.FileSecrets {
		delete(env, f.Secret)
	}
	known, _ := a.cfg.Fields.Known()
	for variable, others := range known.Overrides {
		if env[variable] != "" {
			for _, name := range others {
				delete(env, name)
			}
		}
	}
	return env
}
