package acpagent

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Limits of terminals: how many there are at once, and how much of their output is kept, in bytes.
const (
	maxTerminals = 32
	maxOutput    = 1 << 20
)

// script runs a command with its output in one stream, ends it when the input ends, and says how it
// ended.
const script = `mark=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- 2>&1 & pid=$!
{ cat <&3; kill "$pid"; } >/dev/null 2>&1 & watch=$!
exec 3<&-
wait "$pid"; code=$?
kill "$watch" 2>/dev/null
printf '\n%s%d' "$mark" "$code"`

// terminals are the commands that the program has started through Deft.
type terminals struct {
	a *Agent

	mu       sync.Mutex
	by       map[string]*command
	starting int     // that will be in by
	released []ended // the last ones
	last     int
	closed   bool
}

// ended is the output of a terminal that was released.
type ended struct{ id, text string }

// command is one command of a terminal.
type command struct {
	proc tool.Process
	mark string
	most int
	done chan struct{} // closed at its end

	mu        sync.Mutex
	out       []byte
	truncated bool
	exit      acp.TerminalExitStatus
	killed    bool
}

func newTerminals(a *Agent) *terminals { return &terminals{a: a, by: map[string]*command{}} }

func (t *terminals) create(ctx context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	c := &command{mark: "exit-" + rand.Text() + "-", most: maxOutput, done: make(chan struct{})}
	if r.OutputByteLimit != nil {
		c.most = max(min(*r.OutputByteLimit, maxOutput), 0)
	}
	dir := t.a.cfg.Workspace
	if r.Cwd != nil && *r.Cwd != "" {
		var err error
		if dir, err = t.a.path(*r.Cwd); err != nil {
			return acp.CreateTerminalResponse{}, err
		}
	}
	t.mu.Lock()
	t.last++
	id := "term-" + strconv.Itoa(t.last)
	full := len(t.by)+t.starting >= maxTerminals || t.closed
	if !full {
		t.starting++
	}
	t.mu.Unlock()
	if full {
		return acp.CreateTerminalResponse{}, fault.New(fault.Limit, fmt.Sprintf("there are %d terminals already", maxTerminals)).Hint("release some")
	}
	env := map[string]string{}
	for _, v := range r.Env {
		env[v.Name] = v.Value
	}
	argv := append([]string{"-c", script, "sh", c.mark, r.Command}, r.Args...)
	if len(r.Args) == 0 && strings.ContainsAny(r.Command, " \t\n|&;<>$`\"'()") { // a command line, as programs send it
		argv = []string{"-c", script, "sh", c.mark, "sh", "-c", r.Command}
	}
	var err error
	c.proc, err = t.a.cfg.Programs.StartProgram(ctx, tool.Program{Command: "sh", Args: argv, Dir: dir, Env: env})
	t.mu.Lock()
	t.starting--
	if err != nil {
		t.mu.Unlock()
		return acp.CreateTerminalResponse{}, fmt.Errorf("start a terminal: %w", err)
	}
	if t.closed {
		t.mu.Unlock()
		return acp.CreateTerminalResponse{}, errors.Join(errClosed, c.proc.Close())
	}
	t.by[id] = c
	t.mu.Unlock()
	go c.follow()
	return acp.CreateTerminalResponse{TerminalId: id}, nil
}

// follow keeps the end of the output until the command ends.
func (c *command) follow() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.proc.Read(buf)
		c.mu.Lock()
		c.out = append(c.out, buf[:n]...)
		if over := len(c.out) - maxOutput - len(c.mark) - 16; over > 0 {
			c.out, c.truncated = append(c.out[:0], c.out[over:]...), true
		}
		c.mu.Unlock()
		if err != nil {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := bytes.LastIndex(c.out, []byte("\n"+c.mark)); i >= 0 {
		if code, err := strconv.Atoi(string(c.out[i+1+len(c.mark):])); err == nil {
			c.out, c.exit.ExitCode = c.out[:i], &code
		}
	}
	if c.exit.ExitCode == nil {
		signal := "SIGKILL"
		if c.killed {
			signal = "SIGTERM"
		}
		c.exit.Signal = &signal
	}
}

// text is the output as the program may see it.
func (c *command) text() (out string, truncated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw := c.out
	if over := len(raw) - c.most; over > 0 {
		raw, truncated = raw[over:], true
	}
	return strings.ToValidUTF8(string(raw), ""), truncated || c.truncated
}

func (t *terminals) find(id string) (*command, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.by[id]; c != nil {
		return c, nil
	}
	return nil, fault.New(fault.NotFound, "there is no terminal "+id)
}

// text is the output of a terminal so far, for an event.
func (t *terminals) text(id string) string {
	if c, err := t.find(id); err == nil {
		out, _ := c.text()
		return out
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.released {
		if e.id == id {
			return e.text
		}
	}
	return ""
}

func (t *terminals) output(_ context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	c, err := t.find(r.TerminalId)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	out := acp.TerminalOutputResponse{}
	select {
	case <-c.done:
		out.ExitStatus = &c.exit
	default:
	}
	out.Output, out.Truncated = c.text()
	return out, nil
}

func (t *terminals) wait(ctx context.Context, r acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	c, err := t.find(r.TerminalId)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	select {
	case <-c.done:
		return acp.WaitForTerminalExitResponse{ExitCode: c.exit.ExitCode, Signal: c.exit.Signal}, nil
	case <-ctx.Done():
		return acp.WaitForTerminalExitResponse{}, context.Cause(ctx)
	}
}

func (t *terminals) kill(_ context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	c, err := t.find(r.TerminalId)
	if err == nil {
		err = c.end()
	}
	return acp.KillTerminalResponse{}, err
}

// end ends a command and waits for that.
func (c *command) end() error {
	c.mu.Lock()
	c.killed = true
	c.mu.Unlock()
	err := c.proc.Close()
	<-c.done
	return err
}

// release ends a command. Its output stays known for the event of the tool call that shows it.
func (t *terminals) release(_ context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	c, err := t.find(r.TerminalId)
	if err != nil {
		return acp.ReleaseTerminalResponse{}, err
	}
	err = c.end()
	out, _ := c.text()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, r.TerminalId)
	t.released = append(t.released, ended{r.TerminalId, t.a.shortened(out, maxText)})
	t.released = t.released[max(len(t.released)-maxTerminals, 0):]
	return acp.ReleaseTerminalResponse{}, err
}

func (t *terminals) close() {
	t.mu.Lock()
	t.closed = true
	all := t.by
	t.mu.Unlock()
	var work sync.WaitGroup
	for _, c := range all {
		work.Go(func() {
			if err := c.end(); err != nil {
				t.a.cfg.Log.Info("end a terminal", "err", err)
			}
		})
	}
	work.Wait()
}
