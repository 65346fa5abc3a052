package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// targets are things on this host that the probe must not reach.
type targets struct {
	Workspace string
	Outside   string   // a file beside the workspace
	Secrets   []string // existing files and directories with secrets
	Project   string   // a file with secrets of another project in the home; "" if none can be made
	Readable  string   // a directory that is granted for reading, with a file and a socket
	State     string   // the sandbox's own directory in Options.Dir
	PID       int      // a process outside
	TCP       string   // a listener on the host's loopback
	Own       string   // one on another address of the host; "" if it has none
	Network   sandbox.Network
	Abstract  string   // a listener in the abstract namespace
	Socket    string   // a listener with a path
	Paths     []string // for Access; then nothing else is tried
	Open      bool     // there is no isolation
}

// deletable is a file outside that an escape would delete.
func (t targets) deletable() string { return t.Outside + "-deletable" }

// service is the socket of a service of the host in a directory that is visible.
func (t targets) service() string { return filepath.Join(t.Readable, "sock") }

// Doctor starts a sandbox without network and tries forbidden things in it, then
// one with each network that the level has ("net-list", "net-open" in the
// report). It returns the first sandbox's report and every check, failed ones too;
// it returns an error if a sandbox could not be started or did not answer.
func (p *Provider) Doctor(ctx context.Context) (rep sandbox.Report, checks []sandbox.Attempt, err error) {
	base, err := os.MkdirTemp("", "deft-doctor-")
	if err != nil {
		return rep, nil, fmt.Errorf("make directory to probe in: %w", err)
	}
	base = resolve(base)
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	t, done, err := p.prepareTargets(base)
	if err != nil {
		return rep, nil, err
	}
	defer done()
	rep, checks, err = p.probe(ctx, filepath.Base(base), t)
	if err != nil || rep.Level == LevelNone {
		return rep, checks, err
	}
	for _, n := range t.probedNetworks() {
		t.Network = n
		_, more, err := p.probe(ctx, filepath.Base(base)+"-"+n.Mode(), t)
		switch {
		case fault.Is(err, fault.Unsupported):
			rep.Missing = append(rep.Missing, sandbox.Missing{Feature: "net-" + n.Mode(), Reason: err.Error()})
		case err != nil:
			return rep, checks, err
		default:
			rep.Features = append(rep.Features, "net-"+n.Mode())
		}
		checks = append(checks, more...)
	}
	return rep, checks, nil
}

// probe tries in one sandbox.
func (p *Provider) probe(ctx context.Context, id string, t targets) (rep sandbox.Report, checks []sandbox.Attempt, err error) {
	s, err := p.startProbe(ctx, id, t, []string{t.Readable}, nil)
	if err != nil {
		return rep, nil, err
	}
	defer func() {
		err = errors.Join(err, p.Remove(context.WithoutCancel(ctx), id), p.removeCaches(t.Workspace))
	}()
	checks, err = readChecks(ctx, s, t)
	return s.Report(), checks, err
}

// startProbe starts a sandbox with runProbe as its program.
func (p *Provider) startProbe(ctx context.Context, id string, t targets, readable, writable []string) (sandbox.Sandbox, error) {
	arg, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode targets: %w", err)
	}
	self := resolve(p.opt.Self) // /proc/self would be another process inside
	return p.Start(ctx, sandbox.Spec{
		ID: id, Argv: []string{self, ProbeArg, string(arg)}, Workspace: t.Workspace, Readable: readable, Writable: writable, Network: t.Network,
		Env: []string{"HOME=" + p.opt.Home, "PATH=/usr/bin:/bin", "DEFT_PROBE_SECRET=readable"},
	})
}

// prepareTargets makes the things that the probe tries to reach.
func (p *Provider) prepareTargets(base string) (t targets, done func(), err error) {
	t = targets{
		Workspace: filepath.Join(base, "work"), Outside: filepath.Join(base, "outside"),
		Abstract: "@" + filepath.Base(base), Socket: filepath.Join(base, "sock"),
		Readable: filepath.Join(base, "granted"), State: p.dir(filepath.Base(base)), Open: p.opt.Level == LevelNone,
	}
	t.Secrets = p.unreachable(t)
	for _, dir := range []string{t.Workspace, t.Readable} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return t, nil, fmt.Errorf("make directory to probe: %w", err)
		}
	}
	var project string
	if p.opt.Home != "" {
		// Where the user cannot write, there is no project to protect.
		if project, err = os.MkdirTemp(p.opt.Home, "deft-doctor-"); err == nil {
			t.Project = filepath.Join(project, ".env")
		}
	}
	files := []string{t.Outside, t.deletable(), filepath.Join(t.Readable, "file")}
	if t.Project != "" {
		files = append(files, t.Project)
	}
	for _, path := range files {
		if err := os.WriteFile(path, []byte("outside"), 0o600); err != nil {
			if project != "" {
				_ = os.RemoveAll(project)
			}
			return t, nil, fmt.Errorf("make file to probe: %w", err)
		}
	}
	var open []net.Listener
	var answering sync.WaitGroup
	pid, end, err := startTarget(p.opt.Self)
	if err != nil {
		if project != "" {
			_ = os.RemoveAll(project)
		}
		return t, nil, err
	}
	t.PID = pid
	done = func() {
		end()
		for _, l := range open {
			l.Close()
		}
		answering.Wait()
		if project != "" {
			_ = os.RemoveAll(project) // it was ours a moment ago
		}
	}
	for _, a := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", t.Abstract}, {"unix", t.Socket}, {"unix", t.service()}} {
		l, err := net.Listen(a[0], a[1])
		if err != nil {
			done()
			return t, nil, fmt.Errorf("listen for the probe: %w", err)
		}
		open = append(open, l)
	}
	service := open[0]
	t.TCP = service.Addr().String()
	answering.Go(func() { sayName(service) })
	if l := listenOwn(); l != nil {
		open = append(open, l)
		t.Own = l.Addr().String()
	}
	return t, done, nil
}

// unreachable returns the paths of this host that must not be readable in the
// probe's sandbox.
func (p *Provider) unreachable(t targets) []string {
	covered := coveredPaths(p.opt.Home)
	granted := p.grants(sandbox.Spec{Workspace: t.Workspace}, covered)
	cleaned := cleanedFiles(p.opt.Home, t.Workspace, nil)
	self := resolve(p.opt.Self)
	var hidden []string
	for _, path := range hiddenPaths(p.opt.Home, t.Workspace, p.opt.Hidden) {
		if !within(self, path) {
			hidden = append(hidden, path)
			continue
		}
		// The program is shown in it, and nothing else.
		hidden = append(hidden, inside.AllowedChildren(path, []string{self})...)
	}
	return slices.DeleteFunc(hidden, func(path string) bool {
		// A directory that contains a shown one is not empty.
		holdsCache := p.opt.Home != "" && slices.ContainsFunc(homeCaches, func(c homeCache) bool {
			return within(resolve(p.cachePath(c.name, c.variable)), path)
		})
		return cleaned[path] != "" || holdsCache || within(t.Workspace, path) || slices.ContainsFunc(granted, func(g grant) bool { return within(g.Path, path) })
	})
}

// readChecks reads the probe's lines. A probe that ends early was killed by one of
// its attempts; attempts that it did not reach count as failed.
func readChecks(ctx context.Context, s sandbox.Sandbox, t targets) (checks []sandbox.Attempt, err error) {
	seen := map[string]bool{}
	err = readProbe(ctx, s, func(c sandbox.Attempt) {
		seen[c.Name] = true
		checks = append(checks, c)
	})
	if err != nil {
		return checks, err
	}
	for _, a := range attempts(s.Report().Level, t) {
		if !seen[a.name] {
			checks = append(checks, sandbox.Attempt{Name: a.name, Detail: "the probe ended before it reported this"})
		}
	}
	return checks, nil
}

// readProbe reads the probe's output until it ends.
func readProbe[T any](ctx context.Context, s sandbox.Sandbox, each func(T)) error {
	conn, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for dec := json.NewDecoder(conn); ; {
		var line T
		err := dec.Decode(&line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault.Wrap(err, fault.Unavailable, "read from the probe")
		}
		each(line)
	}
}

// attempt is one thing to try: an error means that it was refused.
type attempt struct {
	name  string
	tried string
	do    func(t targets) error
}

func (a attempt) check(t targets) sandbox.Attempt {
	err := a.do(t)
	if err != nil {
		return sandbox.Attempt{Name: a.name, Detail: a.tried + ": " + err.Error(), OK: true}
	}
	return sandbox.Attempt{Name: a.name, Detail: a.tried + ": it worked"}
}

// attempts lists the attempts of a level, the riskiest last.
func attempts(level string, t targets) []attempt {
	if !t.Network.None() {
		return modeAttempts(t.Network)
	}
	all := append(fileAttempts(), networkAttempts()...)
	all = append(all, kernelAttempts()...)
	all = append(all, otherAttempts(level)...)
	if t.Open { // these would send unwanted requests to other hosts
		all = slices.DeleteFunc(all, func(a attempt) bool { return a.name == "tcp-out" || a.name == "udp-out" })
	}
	if level == LevelNamespaces {
		all = append(all, attempt{"kill-first-process", "send SIGKILL to process 1", killFirst})
	}
	return all
}
