package workflow

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/spawn"
)

// Part is a task that a script gives to a sub-agent.
type Part struct {
	Prompt      string `json:"prompt"`
	Agent       string `json:"agent"`
	Description string `json:"description,omitempty"`
}

// Bounds on a script beside the reference's.
const (
	maxTime  = time.Hour
	maxParts = 1000
	maxLine  = 16 << 20 // of what the processes say to each other
)

// arg makes this program run a script, as its only argument.
const arg = "deft-workflow-script"

// request begins a script.
type request struct {
	Script string `json:"script"`
	Most   int    `json:"most"`
}

// asked is a line from the script's process: a part, or the end.
type asked struct {
	ID     int     `json:"id,omitempty"`
	Part   *Part   `json:"part,omitempty"`
	Result *string `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// answer is a line to it: the report of a sub-agent, or its error.
type answer struct {
	ID    int    `json:"id"`
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// Run runs a script, with at most so many sub-agents at a time, and returns its result. do has a
// sub-agent do a part; it is called by several goroutines, and none is left when Run returns.
func Run(ctx context.Context, script string, most int, do func(context.Context, Part) (string, error)) (result string, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fault.New(fault.Limit, "the workflow was ended after an hour"))
	defer cancel()
	in, toScript, err := os.Pipe()
	if err != nil {
		return "", err
	}
	fromScript, out, err := os.Pipe()
	if err != nil {
		return "", errors.Join(err, in.Close(), toScript.Close())
	}
	cmd := exec.CommandContext(ctx, program, arg)
	cmd.Stdin, cmd.Stdout = in, out
	cmd.Env = []string{"GOMEMLIMIT=128MiB"}
	ended := make(chan error, 1)
	go func() {
		ended <- spawn.Bounds{Memory: maxMemory}.Run(cmd)
		_ = out.Close() // the reader sees the end
		_ = in.Close()
	}()
	h := host{ctx: ctx, to: toScript, do: do}
	result, err = h.serve(request{script, most}, fromScript)
	cancel()
	h.parts.Wait()
	_, _ = toScript.Close(), fromScript.Close()
	exit := <-ended
	switch {
	case !errors.Is(err, errEnded):
		return result, err
	case context.Cause(h.ctx) != nil && !errors.Is(context.Cause(h.ctx), context.Canceled):
		return "", context.Cause(h.ctx)
	case exitCode(exit) == crashed:
		return "", fault.New(fault.Limit, "the script has used too much memory")
	}
	return "", fault.New(fault.Limit, fmt.Sprintf("the script's process has ended (%v): a script has %d seconds of processor time", exit, maxSeconds))
}

// crashed is the exit code of a Go program whose runtime cannot go on: here, for want of memory.
const crashed = 2

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

// errEnded says that the process of a script has ended without a result.
var errEnded = errors.New("the process has ended")

// host answers a script's process.
type host struct {
	ctx   context.Context
	do    func(context.Context, Part) (string, error)
	parts sync.WaitGroup

	mu sync.Mutex
	to io.Writer
}

func (h *host) serve(r request, from io.Reader) (string, error) {
	h.say(r)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for n := 0; lines.Scan(); {
		var line asked
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return "", fault.Wrap(err, fault.Internal, "read from the script's process")
		}
		switch {
		case line.Result != nil:
			return *line.Result, nil
		case line.Error != "":
			return "", fault.New(fault.Invalid, line.Error)
		case line.Part == nil:
			continue
		}
		if n++; n > maxParts {
			h.say(answer{ID: line.ID, Error: fmt.Sprintf("a workflow has %d sub-agents at most", maxParts)})
			continue
		}
		h.parts.Go(func() {
			text, err := h.do(h.ctx, *line.Part)
			a := answer{ID: line.ID, Text: text}
			if err != nil {
				a.Text, a.Error = "", fault.Text(err)
			}
			h.say(a)
		})
	}
	return "", errEnded
}

// say sends a line. A process that has ended gets none.
func (h *host) say(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		return // texts and numbers only
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.to.Write(append(raw, '\n'))
}
