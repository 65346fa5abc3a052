package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// processRows measure starts one after the other, and then start many sandboxes at
// once and run a command in each while all of them run.
func (b *bench) processRows(ctx context.Context) (err error) {
	p, err := process.New(process.Options{Dir: filepath.Join(b.dir, "process"), Self: b.inner})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := b.processStarts(ctx, p); err != nil {
		return err
	}
	workspaces, runtimes := make([]string, b.many), make([]*remote.Runtime, b.many)
	each := func(do func(i int, id string) error) error {
		errs := make([]error, b.many)
		var wg sync.WaitGroup
		for i := range b.many {
			wg.Go(func() { errs[i] = do(i, fmt.Sprintf("many-%d", i)) })
		}
		wg.Wait()
		for i, err := range errs { // one will do: they are mostly the same
			if err != nil {
				return fmt.Errorf("sandbox %d: %w", i, err)
			}
		}
		return nil
	}
	defer func() {
		err = errors.Join(err, each(func(i int, id string) error {
			if runtimes[i] != nil {
				_ = runtimes[i].Close()
			}
			return p.Remove(context.WithoutCancel(ctx), id)
		}))
	}()
	began := time.Now()
	if err := each(func(i int, id string) (err error) {
		if workspaces[i], err = b.workspace(id); err != nil {
			return err
		}
		s, err := p.Start(ctx, b.processSpec(id, workspaces[i], "none"))
		if err != nil {
			return err
		}
		runtimes[i], err = connect(s)
		return err
	}); err != nil {
		return err
	}
	started := time.Since(began)
	began = time.Now()
	if err := each(func(i int, _ string) error { return command(ctx, runtimes[i]) }); err != nil {
		return err
	}
	answered := time.Since(began)
	var pss, most int64
	for _, ws := range workspaces {
		pids, err := processesOf(ws)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return fmt.Errorf("no process of the sandbox of %s", ws)
		}
		var own int64
		for _, pid := range pids {
			one, _, err := memoryOf(pid)
			if err != nil {
				return err
			}
			own += one
		}
		pss, most = pss+own, max(most, own)
	}
	b.row(fmt.Sprintf("%d process sandboxes at once, all started", b.many), "", started.Round(time.Millisecond).String())
	b.row("a command in each of them, all at once", "all answer", answered.Round(time.Millisecond).String())
	b.row("memory of their servers (PSS)", "fits 24 GiB", fmt.Sprintf("%s in all, %s each, %s at most", mb(pss), mb(pss/int64(b.many)), mb(most)))
	return nil
}

// processStarts measures from the start to the end of the first command.
func (b *bench) processStarts(ctx context.Context, p *process.Provider) error {
	for _, m := range []struct {
		network      sandbox.Network
		what, budget string
	}{
		{"none", "without network", "p50 <= 20 ms"},
		{"open", "with the proxy", "p50 <= 30 ms"},
	} {
		var took, starts []time.Duration
		for i := range b.runs + 1 {
			d, start, err := b.processStart(ctx, p, fmt.Sprintf("%s-%d", m.network, i), m.network)
			if err != nil {
				return err
			}
			if i > 0 {
				took, starts = append(took, d), append(starts, start)
			}
		}
		b.row("process sandbox "+m.what+", cold start until the first command is done", m.budget, parts(took, starts))
	}
	return nil
}

func (b *bench) processStart(ctx context.Context, p *process.Provider, id string, n sandbox.Network) (took, start time.Duration, err error) {
	ws, err := b.workspace(id)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	s, err := p.Start(ctx, b.processSpec(id, ws, n))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.Remove(context.WithoutCancel(ctx), id)) }()
	start = time.Since(began)
	rt, err := connect(s)
	if err != nil {
		return 0, 0, err
	}
	defer rt.Close()
	if err := command(ctx, rt); err != nil {
		return 0, 0, err
	}
	return time.Since(began), start, nil
}

func (b *bench) processSpec(id, ws string, n sandbox.Network) sandbox.Spec {
	return sandbox.Spec{
		ID: id, Workspace: ws, Network: n, Env: []string{"PATH=" + os.Getenv("PATH")},
		Argv: []string{b.inner, "action-server", "--workspace", ws, "--grace", "1m", "--ignore-signals", "--net=" + string(n)},
	}
}
