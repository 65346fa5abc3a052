package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/pidfd"
	"github.com/deft-dev/deft/sandbox/internal/repository"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// Levels of isolation, for Options.Level and in Report.Level. LevelAuto is for
// Options only.
const (
	LevelAuto       = "auto"                 // namespaces, otherwise landlock, otherwise an error
	LevelNamespaces = inside.LevelNamespaces // namespaces, Landlock and seccomp, otherwise an error
	LevelLandlock   = inside.LevelLandlock   // Landlock and seccomp only
	LevelNone       = inside.LevelNone       // no isolation at all
)

// Options configure a Provider.
type Options struct {
	// Dir holds sockets, journals and state, one directory per sandbox. It is
	// made with mode 0700 and is never visible inside a sandbox. Required.
	Dir string
	// Self is the binary whose main calls MaybeInit; default: this one.
	Self string
	// Install writes Self if it is not there; nil if it is there. It is called before each
	// start of a sandbox, also by several at once.
	Install func() error
	// Level is one of the Level constants; default LevelAuto.
	Level string
	// Home is the home directory to show in part; default: $HOME.
	Home string
	// Env is the user's environment, in which PATH and others name toolchains;
	// default: this process's. A Spec's may come from a project.
	Env []string
	// TmpBytes bounds /tmp, /var/tmp, /run, /dev/shm and the private home together,
	// which live in memory; default: a third of the sandbox's own limit, so that a full
	// directory is an error of the program that fills it and not the sandbox's end; of
	// one without a limit a quarter of the machine's memory.
	TmpBytes int64
	// Hidden are paths hidden in every sandbox, such as Deft's data.
	Hidden []string
}

// Provider starts and finds sandboxes. It implements sandbox.Provider.
type Provider struct {
	opt Options

	mu      sync.Mutex
	live    map[string]*instance // sandboxes with a running watcher
	proxies pidfd.Collector
	closed  bool
	swept   time.Time // when ended sandboxes were looked for last
	wg      sync.WaitGroup

	trimming bool            // caches
	closing  context.Context // ends with Close
	cancel   context.CancelFunc
}

var _ sandbox.Provider = (*Provider)(nil)

var validID = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// New returns a Provider. It fails with fault.Invalid for bad options and
// fault.Denied if Dir cannot be made.
func New(o Options) (*Provider, error) {
	if err := described.CheckLevel(o.Level); err != nil {
		return nil, err
	}
	o.Level = cmp.Or(o.Level, LevelAuto)
	if !filepath.IsAbs(o.Dir) {
		return nil, fault.New(fault.Invalid, "the sandbox directory must be an absolute path")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make sandbox directory")
	}
	real, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve sandbox directory: %w", err)
	}
	o.Dir = real
	if o.Self == "" {
		// The link stays right when the binary is replaced while it runs.
		o.Self = "/proc/self/exe"
	}
	if o.Install == nil {
		o.Install = func() error { return nil }
	}
	if o.Home == "" {
		o.Home = os.Getenv("HOME")
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if h, err := filepath.EvalSymlinks(o.Home); err == nil && filepath.IsAbs(h) && h != "/" {
		o.Home = h
	} else {
		o.Home = "" // an account without a home
	}
	p := &Provider{opt: o, live: map[string]*instance{}}
	p.closing, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Start starts the sandbox, or returns the one that runs under the ID. The
// journal of an earlier sandbox with the ID is kept. If ctx ends first, nothing is
// left. See package sandbox for the errors; also fault.Conflict if the running
// one has another workspace, other hidden paths, grants, limits, network or level: Get
// and Stop it, then start again.
func (p *Provider) Start(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	s, err := p.check(s)
	if err != nil {
		return nil, err
	}
	dir := p.dir(s.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make sandbox directory: %w", err)
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if in, err := p.find(s.ID); err == nil {
		if !in.st.Key.equal(p.isolationKey(s)) {
			return nil, fault.New(fault.Conflict, "sandbox "+s.ID+" runs with another workspace or isolation").
				Hint("stop it first")
		}
		if err := in.resume(ctx); err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		if in.listens(ctx) {
			return &handle{in, true}, nil
		}
		if err := in.awaitEnd(ctx); err != nil {
			return nil, err
		}
	} else if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if err := p.tidyEnded(s.ID); err != nil {
		return nil, err
	}
	p.sweep()
	if err := p.opt.Install(); err != nil {
		return nil, err
	}
	in, err := p.launch(ctx, s)
	if err != nil {
		return nil, err
	}
	p.trimCaches()
	return &handle{in, false}, nil
}

// Get returns a running sandbox. Errors: fault.NotFound if there is none.
func (p *Provider) Get(_ context.Context, id string) (sandbox.Sandbox, error) {
	if !validID().MatchString(id) {
		return nil, fault.New(fault.Invalid, "not a sandbox id: "+id)
	}
	in, err := p.find(id)
	if err != nil {
		return nil, err
	}
	return &handle{in, true}, nil
}

// List implements sandbox.Provider.
func (p *Provider) List(context.Context) ([]sandbox.Status, error) {
	entries, err := os.ReadDir(p.opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	list := []sandbox.Status{}
	for _, e := range entries {
		if !validID().MatchString(e.Name()) {
			continue
		}
		if st, err := readState(p.dir(e.Name())); err == nil && st.alive() {
			list = append(list, st.status(e.Name()))
		}
	}
	return list, nil
}

// Remove stops the sandbox, if it runs, and deletes its files, including the
// journal.
func (p *Provider) Remove(ctx context.Context, id string) error {
	s, err := p.Get(ctx, id)
	switch {
	case err == nil:
		err = s.Stop(ctx)
	case fault.Is(err, fault.NotFound):
		err = p.tidyEnded(id)
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(p.dir(id)); err != nil {
		return fmt.Errorf("remove sandbox directory: %w", err)
	}
	return nil
}

// Close ends the Provider's own goroutines and waits for them. Sandboxes run
// on; their Done channels no longer close. The Provider cannot be used after.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, in := range p.live {
		in.unwatch()
	}
	p.mu.Unlock()
	p.cancel()
	p.proxies.Close()
	p.wg.Wait()
	return nil
}

func (p *Provider) dir(id string) string { return filepath.Join(p.opt.Dir, id) }

// check validates s and resolves the symbolic links in its paths.
func (p *Provider) check(s sandbox.Spec) (sandbox.Spec, error) {
	if !validID().MatchString(s.ID) {
		return s, fault.New(fault.Invalid, "not a sandbox id: "+s.ID)
	}
	if len(s.Argv) == 0 || !filepath.IsAbs(s.Argv[0]) {
		return s, fault.New(fault.Invalid, "the sandbox's program must be an absolute path")
	}
	if !filepath.IsAbs(s.Workspace) {
		return s, fault.New(fault.Invalid, "the workspace must be an absolute path: "+s.Workspace)
	}
	if err := described.Check(s); err != nil {
		return s, err
	}
	real, err := filepath.EvalSymlinks(s.Workspace)
	if err != nil {
		return s, fault.Wrap(err, fault.Invalid, "cannot use the workspace")
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
		return s, fault.New(fault.Invalid, "the workspace is not a directory: "+real)
	}
	for _, no := range []string{"/proc", "/sys", "/dev"} {
		if real == "/" || within(real, no) {
			return s, fault.New(fault.Invalid, "the workspace cannot be "+real).
				Hint("use a project's directory")
		}
	}
	s.Workspace = real
	if s.Alias != "" && (!filepath.IsAbs(s.Alias) || s.Alias != filepath.Clean(s.Alias) || s.Alias == "/" || within(real, s.Alias) || within(s.Alias, real) ||
		within(p.opt.Home, real) || len(s.Readable)+len(s.Writable) > 0) { // these are not shown at a second path as they are at the first
		return s, fault.New(fault.Unsupported, "the workspace "+real+" cannot be shown at "+s.Alias+" too")
	}
	if s.Network, err = sandbox.ParseNetwork(string(s.Network)); err != nil {
		return s, err
	}
	for _, h := range slices.Concat([]string{p.opt.Dir}, s.Hidden, s.AlsoHidden) {
		if !filepath.IsAbs(h) {
			return s, fault.New(fault.Invalid, "a hidden path must be absolute: "+h)
		}
		if resolve(h) == real {
			return s, fault.New(fault.Invalid, "the workspace is among the hidden paths: "+real)
		}
	}
	if err := repository.Check(s.Workspace); err != nil {
		return s, err
	}
	return s, p.checkGrants(s)
}
