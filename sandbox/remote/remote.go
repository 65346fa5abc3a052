package remote

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/sandbox"
)

// Options configure a Provider.
type Options struct {
	// Dir holds this client's name, unless Client is set, and the names of its sandboxes. It is made with mode
	// 0700 when the first one starts. Required.
	Dir string
	// Client is this client's name, where clients with other directories have the same
	// sandboxes: letters and digits. Default: one of Dir, made at random.
	Client string
	// URL is the API's address, Key the client's key for it, and KeyName the variable
	// that holds it, for messages. A Provider without them starts nothing, and says why.
	URL, Key, KeyName string
	// Image for sandboxes that name none; default: none, for an API without images.
	Image string
	// GitIdentity has commits in sandboxes carry the name and the address of the user of
	// this machine, as Home's Git configuration has them, in the variable GIT_CONFIG_COUNT and those that
	// belong to it.
	GitIdentity bool
	// Home is the user's home; default: $HOME.
	Home string
	// StartTimeout bounds a start, which may fetch an image; default 5 minutes.
	StartTimeout time.Duration
	// Transport makes the HTTP connections; default: one that asks the environment for a
	// proxy.
	Transport http.RoundTripper
	// Log gets events of sandboxes that nobody waits for; default: none.
	Log *slog.Logger
}

// Provider starts and finds sandboxes. It implements sandbox.Provider.
type Provider struct {
	o   Options
	api *api
	// unusable is why there is no API; nil if there is one.
	unusable error

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	name string // of this client; "" until it is needed
	live map[string]*instance

	listed listed
}

var _ sandbox.Provider = (*Provider)(nil)

var validID = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{0,100}$`)

// New makes a Provider. It connects to nothing. The error is of kind fault.Invalid.
func New(o Options) (*Provider, error) {
	if o.Dir == "" {
		return nil, fault.New(fault.Invalid, "a provider of remote sandboxes needs a directory")
	}
	o.Home = cmp.Or(o.Home, os.Getenv("HOME"))
	o.StartTimeout = cmp.Or(o.StartTimeout, 5*time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Provider{o: o, name: o.Client, live: map[string]*instance{}}
	switch {
	case o.URL == "":
		p.unusable = fault.New(fault.Invalid, "the sandbox is one of a Runtime API, whose address is missing").Hint("add --runtime-api URL, or set DEFT_RUNTIME_API")
	case o.Key == "":
		p.unusable = fault.New(fault.Denied, "the key for the Runtime API is missing").
			Hint("set the variable " + cmp.Or(o.KeyName, "DEFT_RUNTIME_API_KEY") + ", or name another one with --runtime-api-key-env")
	default:
		var err error
		if p.api, err = newAPI(o); err != nil {
			return nil, err
		}
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Close lets go of the sandboxes, which run on.
func (p *Provider) Close() error {
	p.mu.Lock() // no watch begins after that
	p.cancel()
	p.mu.Unlock()
	p.wg.Wait()
	return nil
}

// mark is the file that says that a sandbox was started, and by its time, when. It is empty
// until the sandbox has run. Starts lock it.
func (p *Provider) mark(id string) string { return filepath.Join(p.o.Dir, id) }

// startedAt is when a sandbox was started; zero if that is not known.
func (p *Provider) startedAt(id string) time.Time {
	info, err := os.Stat(p.mark(id))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// session is the name of a sandbox's session.
func (p *Provider) session(id string) (string, error) {
	prefix, err := p.prefix()
	return prefix + id, err
}

// prefix begins the names of this client's sessions.
func (p *Provider) prefix() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(p.o.Dir, 0o700); err != nil {
		return "", fault.Wrap(err, fault.Denied, "make the directory of remote sandboxes")
	}
	if p.name == "" {
		path := filepath.Join(p.o.Dir, ".client")
		if err := nameClient(path); err != nil {
			return "", fmt.Errorf("name this client: %w", err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read this client's name: %w", err)
		}
		if len(raw) != 12 {
			return "", fault.New(fault.Corrupt, "the file "+path+" is damaged").Hint("delete it, and stop the runtimes of this client by the API")
		}
		p.name = string(raw)
	}
	return "deft-" + p.name + "-", nil
}

// nameClient writes a name into a file unless it is there. The file appears whole: other
// processes may read it at the same time.
func nameClient(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".client-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ToLower(rand.Text()[:12]))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// Start implements [sandbox.Provider].
func (p *Provider) Start(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	if p.unusable != nil {
		return nil, p.unusable
	}
	s.Container.Image = cmp.Or(s.Container.Image, p.o.Image)
	session, err := p.session(s.ID)
	if err != nil {
		return nil, err
	}
	q, err := p.request(s, session)
	if err != nil {
		return nil, err
	}
	late := fault.New(fault.Timeout, "the Runtime API did not start the sandbox within "+p.o.StartTimeout.String())
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.StartTimeout, late)
	defer cancel()
	unlock, err := filelock.Lock(ctx, p.mark(s.ID)) // one of several starts makes it, the others find it
	if err != nil {
		return nil, fmt.Errorf("note the sandbox: %w", err)
	}
	defer unlock()
	before, err := p.api.session(ctx, session)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	reused := before.Status == statusRunning || before.Status == statusPaused
	if now := time.Now(); !reused {
		if err := os.Chtimes(p.mark(s.ID), now, now); err != nil {
			return nil, fmt.Errorf("note the sandbox: %w", err)
		}
	}
	rt, err := p.start(ctx, q)
	if err == nil && rt.WorkingDir != "" && filepath.Clean(rt.WorkingDir) != q.WorkingDir {
		err = fault.New(fault.Unsupported, "this Runtime API has no "+q.WorkingDir+" in its sandboxes; the workspace there is "+rt.WorkingDir).
			Hint("use a Runtime API whose sandboxes are containers, for example deft runtime-api --sandbox docker")
		if !reused {
			err = errors.Join(err, p.api.change(context.WithoutCancel(ctx), "stop", rt.ID))
		}
	}
	if err != nil {
		return nil, err
	}
	if !reused {
		if err := os.WriteFile(p.mark(s.ID), []byte("it has run\n"), 0o600); err != nil {
			return nil, fmt.Errorf("note the sandbox: %w", err)
		}
	}
	in, err := p.instance(ctx, s.ID, session, rt)
	if err != nil {
		return nil, err
	}
	found := *in
	found.reused = reused
	return &found, nil
}

// start asks until the runtime runs: the API answers early if a start takes long.
func (p *Provider) start(ctx context.Context, q startRequest) (rt runtime, err error) {
	for {
		began := time.Now()
		if err := p.api.call(ctx, http.MethodPost, "/start", q, &rt); err != nil {
			return rt, err
		}
		switch {
		case rt.ID == "" || !strings.HasPrefix(rt.URL, "http://") && !strings.HasPrefix(rt.URL, "https://"):
			return rt, fault.New(fault.Corrupt, "the Runtime API's answer to a start names no runtime")
		case rt.Status == statusRunning:
			return rt, nil
		case rt.Status == statusPaused:
			err = p.api.change(ctx, "resume", rt.ID)
		case rt.Status != statusStarting:
			err = fault.New(fault.Unavailable, "the Runtime API could not start the sandbox: "+cmp.Or(rt.Reason, rt.Status))
		}
		if err != nil {
			return rt, err
		}
		if time.Since(began) < time.Second { // it does not wait by itself
			if err := sleep(ctx, time.Second); err != nil {
				return rt, err
			}
		}
	}
}

// Get implements [sandbox.Provider].
func (p *Provider) Get(ctx context.Context, id string) (sandbox.Sandbox, error) {
	none := fault.New(fault.NotFound, "no sandbox "+id+" runs")
	switch started, err := p.started(id); {
	case err != nil:
		return nil, err
	case !started:
		return nil, none
	}
	if p.unusable != nil {
		return nil, p.unusable
	}
	session, err := p.session(id)
	if err != nil {
		return nil, err
	}
	rt, err := p.api.session(ctx, session)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, none
	case err != nil:
		return nil, err
	case rt.Status != statusRunning && rt.Status != statusPaused:
		return nil, none
	}
	in, err := p.instance(ctx, id, session, rt)
	if err != nil {
		return nil, err
	}
	found := *in
	found.reused = true
	return &found, nil
}

// started reports whether a sandbox was started from this directory.
func (p *Provider) started(id string) (bool, error) {
	if !validID().MatchString(id) {
		return false, nil
	}
	_, err := os.Stat(p.mark(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// List implements [sandbox.Provider].
func (p *Provider) List(ctx context.Context) ([]sandbox.Status, error) {
	if p.unusable != nil {
		return nil, p.unusable
	}
	all, err := p.runtimes(ctx)
	if err != nil {
		return nil, err
	}
	list := []sandbox.Status{}
	for id, rt := range all {
		if rt.Status == statusRunning || rt.Status == statusPaused {
			st := statusOf(id, rt)
			st.Started = p.startedAt(id)
			list = append(list, st)
		}
	}
	slices.SortFunc(list, func(a, b sandbox.Status) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// Remove implements [sandbox.Provider]: the runtime is stopped, which removes its files.
func (p *Provider) Remove(ctx context.Context, id string) error {
	if started, err := p.started(id); err != nil || !started {
		return err
	}
	if p.unusable != nil {
		return p.unusable
	}
	session, err := p.session(id)
	if err != nil {
		return err
	}
	rt, err := p.api.session(ctx, session)
	if err == nil {
		err = p.api.change(ctx, "stop", rt.ID)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	p.mu.Lock()
	in := p.live[id]
	p.mu.Unlock()
	if in != nil {
		in.ended(sandbox.Reason{Cause: sandbox.CauseKilled, Message: "removed"})
	}
	return os.Remove(p.mark(id))
}
