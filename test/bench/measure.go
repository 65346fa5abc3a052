package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/event"
)

// command prepares `deft run` in an own data directory and workspace.
func (b *bench) command(ctx context.Context, args ...string) *exec.Cmd {
	ws := filepath.Join(b.dir, "ws")
	_ = os.MkdirAll(ws, 0o755) // run fails and says so
	cmd := exec.CommandContext(ctx, b.bin, args...)
	cmd.Dir = ws
	cmd.Env = append(os.Environ(), "DEFT_DATA="+filepath.Join(b.dir, "data"), "LLM_API_KEY=none",
		"LLM_MODEL=openai/bench", "LLM_BASE_URL="+b.url)
	return cmd
}

func (b *bench) run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, out)
	}
	return nil
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[min(len(s)-1, int(float64(len(s))*q))]
}

func ms(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 2, 64) + " ms"
}

func p50p90(d []time.Duration) string {
	return fmt.Sprintf("p50 %s, p90 %s", ms(quantile(d, 0.5)), ms(quantile(d, 0.9)))
}

// fromStart measures from the start of the process to the first LLM request,
// with the sandbox on.
func (b *bench) fromStart(ctx context.Context, runs int) ([]row, error) {
	var took []time.Duration
	var rss int64
	for range runs {
		b.script(0)
		cmd := b.command(ctx, "run", "--quiet", "hello")
		began := time.Now()
		if err := b.run(cmd); err != nil {
			return nil, err
		}
		took = append(took, (<-b.fresh).Sub(began))
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			rss = max(rss, u.Maxrss)
		}
	}
	return []row{
		{"process start to first LLM request, sandbox on", "<= 30 ms", p50p90(took), ""},
		{"resident memory of deft run, peak", "<= 40 MB", fmt.Sprintf("%.1f MB", float64(rss)/1024), ""},
	}, nil
}

// steps measures a step's own time: answer read, action stored, run in the
// sandbox, result stored, prompt built and sent.
func (b *bench) steps(ctx context.Context, _ int) ([]row, error) {
	b.script(300)
	cmd := b.command(ctx, "run", "--quiet", "hello")
	if err := b.run(cmd); err != nil {
		return nil, err
	}
	rss := int64(0)
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		rss = u.Maxrss
	}
	gaps := b.gaps(20)
	own := p50p90(gaps)
	hook, err := b.hook(ctx, quantile(gaps, 0.5))
	if err != nil {
		return nil, err
	}
	peer, err := b.peerSteps(ctx)
	if err != nil {
		return nil, err
	}
	return []row{
		{"a step's own time, process sandbox, LLM time left out", "p50 <= 3 ms", own, peer},
		hook,
		{"resident memory after 300 steps, peak", "<= 40 MB", fmt.Sprintf("%.1f MB", float64(rss)/1024), ""},
	}, nil
}

// hook measures the part of a step that a hook before each call adds, in the middle, whose
// command does nothing. step is a step without one.
func (b *bench) hook(ctx context.Context, step time.Duration) (row, error) {
	file := filepath.Join(b.dir, "hooks.json")
	if err := os.WriteFile(file, []byte(`{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":":"}]}]}`), 0o600); err != nil {
		return row{}, err
	}
	b.script(300)
	if err := b.run(b.command(ctx, "run", "--quiet", "--hooks", file, "hello")); err != nil {
		return row{}, err
	}
	added := quantile(b.gaps(20), 0.5) - step
	var alone []time.Duration
	for range 100 {
		began := time.Now()
		if err := b.run(exec.CommandContext(ctx, "sh", "-c", ":")); err != nil {
			return row{}, err
		}
		alone = append(alone, time.Since(began))
	}
	got := fmt.Sprintf("p50 %s, of which the shell alone has %s", ms(added), ms(quantile(alone, 0.5)))
	return row{"a hook's own cost: a shell in the sandbox, a stored event", "p50 <= 10 ms", got, ""}, nil
}

// subAgents measures from the end of an answer that gives a task to the first request of its
// sub-agent. The first ones, in which things warm up, are left out.
func (b *bench) subAgents(ctx context.Context, _ int) ([]row, error) {
	const warm, measured = 10, 60
	b.scriptTasks(warm + measured)
	if err := b.run(b.command(ctx, "run", "--quiet", "hello")); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.starts) != warm+measured {
		return nil, fmt.Errorf("%d of %d sub-agents were started", len(b.starts), warm+measured)
	}
	return []row{{"start of a sub-agent, to its first request", "p50 <= 5 ms", p50p90(b.starts[warm:]), ""}}, nil
}

// longConversation compares steps at event 50,000 with steps at event 100.
func (b *bench) longConversation(ctx context.Context, _ int) ([]row, error) {
	var p50 [2]time.Duration
	var open time.Duration
	for i, events := range []int{100, 50_000} {
		id, err := b.imported(ctx, events)
		if err != nil {
			return nil, err
		}
		b.script(200)
		began := time.Now()
		if err := b.run(b.command(ctx, "run", "--quiet", "--resume", id, "-C", filepath.Join(b.dir, "ws"), "go on")); err != nil {
			return nil, err
		}
		open = (<-b.fresh).Sub(began)
		p50[i] = quantile(b.gaps(20), 0.5)
	}
	return []row{
		{"step at event 100 / at event 50,000", "ratio <= 1.2", fmt.Sprintf("%s / %s, ratio %.2f", ms(p50[0]), ms(p50[1]), float64(p50[1])/float64(p50[0])), ""},
		{"resume of a conversation of 50,000 events, to first request", "", ms(open), ""},
	}, nil
}

// imported makes a conversation of about n events and returns its id.
func (b *bench) imported(ctx context.Context, n int) (string, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("long-%d.json", n))
	if err := writeTrajectory(path, n); err != nil {
		return "", err
	}
	out, err := b.command(ctx, "conversations", "import", "--json", path).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return "", fmt.Errorf("import: %w\n%s", err, exit.Stderr)
		}
		return "", err
	}
	var report struct{ ID string }
	if err := json.Unmarshal(out, &report); err != nil {
		return "", fmt.Errorf("import printed %q: %w", out, err)
	}
	return report.ID, nil
}

// writeTrajectory writes a conversation of n events in which condensations
// keep the view at its usual size.
func writeTrajectory(path string, n int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	sep := "["
	put := func(ev event.Event) error {
		raw, err := event.Marshal(ev)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s%s", sep, raw)
		sep = ",\n"
		return err
	}
	first := event.NewUserMessage("work on this")
	if err := put(first); err != nil {
		return err
	}
	var seen []event.ID
	for i := 1; i < n; i += 2 {
		evs := pair(i)
		for _, ev := range evs {
			if err := put(ev); err != nil {
				return err
			}
			seen = append(seen, ev.Meta().ID)
		}
		if len(seen) >= 200 {
			sum, at := "notes", 1
			c := &event.Condensation{Base: event.NewBase(event.SourceEnvironment), Summary: &sum, SummaryOffset: &at}
			c.ForgottenEventIDs = slices.Clone(seen[:180])
			c.ForgottenEventIDs = append(c.ForgottenEventIDs, c.ID+"-summary")
			seen = slices.Clone(seen[180:])
			if err := put(c); err != nil {
				return err
			}
			seen = append(seen, c.ID+"-summary")
		}
	}
	if _, err := w.WriteString("]\n"); err != nil {
		return err
	}
	return w.Flush()
}

// pair is an action and its result.
func pair(i int) []event.Event {
	call := fmt.Sprintf("old_%d", i)
	a := &event.ActionEvent{
		Base: event.NewBase(event.SourceAgent), ToolName: "terminal", ToolCallID: call, LLMResponseID: call,
		Action:   &event.TerminalAction{Command: fmt.Sprintf("echo %d", i)},
		ToolCall: event.ToolCall{ID: call, Name: "terminal", Arguments: fmt.Sprintf(`{"command":"echo %d"}`, i), Origin: event.OriginCompletion},
	}
	zero := 0
	o := &event.ObservationEvent{
		Base: event.NewBase(event.SourceEnvironment), ToolName: "terminal", ToolCallID: call, ActionID: a.ID,
		Observation: &event.TerminalObservation{
			ExitCode: &zero, Command: &a.Action.(*event.TerminalAction).Command,
			ObservationBase: event.ObservationBase{Content: event.Texts(fmt.Sprint(i))},
		},
	}
	return []event.Event{a, o}
}
