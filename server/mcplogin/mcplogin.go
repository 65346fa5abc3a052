// Package mcplogin has the logins at MCP servers that are under way: a person visits the page of
// an authorization server in a browser, which comes back with a code.
//
// # Usage
//
//	jobs := mcplogin.New()
//	job, err := jobs.Start(ctx, owner, request, logIn) // job.Address is for the browser
//	job, err = jobs.Answer(owner, query)        // of the redirect
//	<-job.Done()
//
// A program on the person's machine has a [Loopback] for the redirect.
//
// # Trust
//
// A redirect counts for the login of the same owner whose state parameter it has: the state is
// random and known to the browser that began alone.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A login ends by itself after [Lasts]. Close waits for
// all.
package mcplogin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Lasts is how long a person has for a login, and how long its result is kept.
const Lasts = 15 * time.Minute

// maxOwn bounds the logins of one owner that are kept; the oldest one ends for a new one.
const maxOwn = 8

// Logins keeps the logins of one owner, as of settings.Service.
type Logins interface {
	Login(ctx context.Context, key string) (json.RawMessage, error)
	ChangeLogin(ctx context.Context, key string, change func(json.RawMessage) (json.RawMessage, error)) error
}

// Request is a login.
type Request struct {
	// Server is an entry of mcp_config, with its secrets in the clear.
	Server json.RawMessage
	// Redirect is where the browser comes back to.
	Redirect string
	// Visit shows a person the address of the authorization server, and returns the query of
	// the redirect.
	Visit func(ctx context.Context, address string) (url.Values, error)
	// Logins keeps the login; nil for nowhere.
	Logins Logins
}

// LogIn carries a login out. Its result is mostly the login as auth.state of the server.
type LogIn func(ctx context.Context, r Request) (result json.RawMessage, err error)

// LogOut removes the login at a server, an entry of mcp_config with its secrets in the clear, and
// reports whether the authorization server has revoked it. NotFound if there is no login.
type LogOut func(ctx context.Context, server json.RawMessage, logins Logins) (revoked bool, err error)

// Locally returns a LogIn whose redirect goes to a port of this machine.
func Locally(logIn LogIn) LogIn {
	return func(ctx context.Context, r Request) (_ json.RawMessage, err error) {
		l, err := Listen(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		shown := r.Visit
		r.Redirect, r.Visit = l.URL(), func(ctx context.Context, address string) (url.Values, error) {
			return both(ctx, address, shown, l.Wait)
		}
		return logIn(ctx, r)
	}
}

// Jobs are the logins under way. Make them with [New].
type Jobs struct {
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu  sync.Mutex
	all []*Job
}

// New returns Jobs.
func New() *Jobs {
	j := &Jobs{}
	j.ctx, j.stop = context.WithCancel(context.Background())
	return j
}

// Job is one login.
type Job struct {
	ID    string
	owner string
	began time.Time
	stop  context.CancelFunc

	visited chan struct{}   // closed when address is there
	answer  chan url.Values // holds one
	done    chan struct{}

	// The fields below are set before visited or done is closed.
	address, nonce string
	result         json.RawMessage
	err            error
}

// Done is closed at the end.
func (j *Job) Done() <-chan struct{} { return j.done }

// Address is the authorization server's address; "" if it is not known yet.
func (j *Job) Address() string {
	select {
	case <-j.visited:
		return j.address
	default:
		return ""
	}
}

// Result is the result of the LogIn, once it is done.
func (j *Job) Result() (json.RawMessage, error) { return j.result, j.err }

// Start begins a login. It returns when the address of the authorization server is known, or the
// login is done: its result is the reason then.
func (j *Jobs) Start(ctx context.Context, owner string, r Request, logIn LogIn) (*Job, error) {
	job := &Job{
		ID: rand.Text(), owner: owner, began: time.Now(),
		visited: make(chan struct{}), answer: make(chan url.Values, 1), done: make(chan struct{}),
	}
	own, stop := context.WithTimeout(j.ctx, Lasts)
	job.stop = stop
	r.Visit = func(ctx context.Context, address string) (url.Values, error) {
		if u, err := url.Parse(address); err == nil {
			job.nonce = u.Query().Get("state")
		}
		job.address = address
		close(job.visited)
		return job.wait(ctx, address)
	}
	j.keep(job)
	j.work.Go(func() {
		defer stop()
		job.result, job.err = logIn(own, r)
		close(job.done)
	})
	select {
	case <-job.visited:
	case <-job.done:
	case <-ctx.Done():
		stop()
		return nil, context.Cause(ctx)
	}
	return job, nil
}

// wait waits for the redirect.
func (j *Job) wait(ctx context.Context, _ string) (url.Values, error) {
	select {
	case query := <-j.answer:
		return query, nil
	case <-ctx.Done():
		return nil, fault.New(fault.Timeout, "nobody has logged in")
	}
}

// visit is as in [Request].
type visit func(ctx context.Context, address string) (url.Values, error)

// both returns the first answer of two.
func both(ctx context.Context, address string, ways ...visit) (url.Values, error) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	type outcome struct {
		query url.Values
		err   error
	}
	outcomes := make(chan outcome, len(ways))
	for _, way := range ways {
		work.Go(func() {
			query, err := way(ctx, address)
			outcomes <- outcome{query, err}
		})
	}
	first := <-outcomes
	return first.query, first.err
}

// keep adds a login and drops old ones.
func (j *Jobs) keep(job *Job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	kept := []*Job{job}
	n := 1
	for _, other := range j.all { // the newest first
		if other.owner == job.owner {
			n++
		}
		if time.Since(other.began) > 2*Lasts || other.owner == job.owner && n > maxOwn {
			other.stop()
			continue
		}
		kept = append(kept, other)
	}
	j.all = kept
}

// Find returns an owner's login. NotFound if there is none.
func (j *Jobs) Find(owner, id string) (*Job, error) {
	return j.find(owner, func(job *Job) bool { return job.ID == id })
}

func (j *Jobs) find(owner string, is func(*Job) bool) (*Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, job := range j.all {
		if job.owner == owner && is(job) {
			return job, nil
		}
	}
	return nil, fault.New(fault.NotFound, "this login is not under way any more").Hint("begin it again")
}

// Answer takes the query of a redirect for the owner's login whose state it has. NotFound if
// there is none.
func (j *Jobs) Answer(owner string, query url.Values) (*Job, error) {
	nonce := query.Get("state")
	job, err := j.find(owner, func(job *Job) bool { return job.Address() != "" && nonce != "" && job.nonce == nonce })
	if err != nil {
		return nil, err
	}
	select {
	case job.answer <- query:
	default: // it has one already
	}
	return job, nil
}

// Close stops all logins and waits for them.
func (j *Jobs) Close() error {
	j.stop()
	j.work.Wait()
	return nil
}
