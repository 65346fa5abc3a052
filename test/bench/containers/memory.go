package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/bootstrap"
)

// memory measures the servers in a container after their first command: Deft's program for
// sandboxes, and Deft itself as a Runtime API starts it.
func (b *bench) memory(ctx context.Context) error {
	for _, m := range []struct {
		what, budget string
		self         string
		args         []string
		use          func(context.Context, sandbox.Sandbox) error
	}{
		{"action server", "<= 25 MB", b.inner, []string{"action-server"}, func(ctx context.Context, s sandbox.Sandbox) error {
			rt, err := connect(s)
			if err != nil {
				return err
			}
			return errors.Join(command(ctx, rt), rt.Close())
		}},
		{"agent server", "<= 40 MB", b.deft, []string{"sandbox-server"}, agentServer},
	} {
		e, err := b.engine(m.self)
		if err != nil {
			return err
		}
		defer e.close()
		id := "memory-" + m.args[0]
		ws, err := e.workspace(id)
		if err != nil {
			return err
		}
		spec := e.spec(id, ws, "")
		if m.args[0] != "action-server" {
			spec.Argv = append(spec.Argv[:1:1], m.args...)
			spec.Env = []string{"HOME=" + ws, "DEFT_DATA=" + filepath.Join(ws, ".deft")}
		}
		s, err := e.provider.Start(ctx, spec)
		if err != nil {
			return err
		}
		var pss, rss int64
		if err = m.use(ctx, s); err == nil {
			pss, rss, err = e.inside(ctx, id)
		}
		if err = errors.Join(err, e.provider.Remove(ctx, id)); err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		e.row("memory of the "+m.what+" in a container, after a command", m.budget, fmt.Sprintf("PSS %s, RSS %s", mb(pss), mb(rss)))
	}
	return nil
}

// agentServer makes a waiting sandbox an agent server, and runs a command through its HTTP.
func agentServer(ctx context.Context, s sandbox.Sandbox) error {
	const key = "key-of-the-bench"
	if _, err := bootstrap.Assign(ctx, s, bootstrap.Assignment{
		Args: []string{"agent-server", "--host", "127.0.0.1", "--port", "60000"}, Env: []string{"OH_SESSION_API_KEYS_0=" + key},
	}); err != nil {
		return err
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.Dial(ctx) }}}
	defer c.CloseIdleConnections()
	q, err := http.NewRequestWithContext(ctx, "POST", "http://sandbox/api/bash/execute_bash_command", strings.NewReader(`{"command": "true"}`))
	if err != nil {
		return err
	}
	q.Header.Set("X-Session-API-Key", key)
	q.Header.Set("Content-Type", "application/json")
	answer, err := c.Do(q)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"exit_code":0`))) {
		err = fmt.Errorf("the command: %s: %s", answer.Status, text)
	}
	return err
}

// inside is the memory of the server in a container, its process 1.
func (e *engine) inside(ctx context.Context, id string) (pss, rss int64, err error) {
	found, err := e.client.ContainerList(ctx, client.ContainerListOptions{Filters: make(client.Filters).Add("label", "dev.deft.sandbox="+id)})
	if err != nil {
		return 0, 0, err
	}
	if len(found.Items) != 1 {
		return 0, 0, fmt.Errorf("%d containers of the sandbox %s", len(found.Items), id)
	}
	c, err := e.client.ContainerInspect(ctx, found.Items[0].ID, client.ContainerInspectOptions{})
	if err != nil {
		return 0, 0, err
	}
	return memoryOf(c.Container.State.Pid)
}

// memoryOf is the memory of a process: PSS shares out pages that several of them
// map.
func memoryOf(pid int) (pss, rss int64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		var to *int64
		switch f[0] {
		case "Pss:":
			to = &pss
		case "Rss:":
			to = &rss
		default:
			continue
		}
		kb, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		*to = kb << 10
	}
	if pss == 0 || rss == 0 {
		return 0, 0, fmt.Errorf("process %d has no memory: it has ended", pid)
	}
	return pss, rss, nil
}

// processesOf are those whose command line holds a word.
func processesOf(word string) (pids []int, err error) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	for _, path := range all {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		if !bytes.Contains(append(raw, 0), append([]byte(word), 0)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
