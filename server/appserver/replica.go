package appserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/callbacks"
	settingsroutes "github.com/deft-dev/deft/server/appserver/settings"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// passedOn marks a request that another server has passed on. It is never passed on
// again; a client that sends it itself gets the answer of the server that it asks.
const passedOn = "X-Deft-Passed-On"

// replicas pass a request on to the server that works on its conversation, or that has its login
// under way, where several share a database: clients may ask any of them.
type replicas struct {
	locks     session.LockLocator
	inSandbox func(ctx context.Context, sandbox string) ([]event.ConversationID, error)
	log       *slog.Logger
	transport http.RoundTripper
}

var _ settingsroutes.Replicas = (*replicas)(nil)

// newReplicas returns nil if the server is alone.
func newReplicas(lock session.Lock, inSandbox func(context.Context, string) ([]event.ConversationID, error), log *slog.Logger) *replicas {
	locks, ok := lock.(session.LockLocator)
	if !ok {
		return nil
	}
	return &replicas{locks, inSandbox, log, &http.Transport{
		DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
		DisableCompression: true, // bytes are passed on as they are
	}}
}

// A server that has ended is noticed after a moment: until then its address is still
// known. A request that nobody has received is kept that long.
const (
	endedTime  = 6 * time.Second
	endedPause = 200 * time.Millisecond
)

// pass answers a request if another server works on its conversation. sandbox is the
// sandbox of the request's key, "" for none.
func (p *replicas) pass(w http.ResponseWriter, r *http.Request, sandbox string) bool {
	if p == nil || r.Header.Get(passedOn) != "" {
		return false
	}
	ids, err := p.subjects(r, sandbox)
	if err != nil {
		p.log.Warn("find the conversations of a request", "path", r.URL.Path, "err", err)
	}
	if err != nil || len(ids) == 0 {
		return false
	}
	return p.passTo(w, r, ids, "the server that works on this conversation does not answer; if it has ended, another one takes over in a few seconds")
}

// HoldLogin implements [settingsroutes.Replicas]: the lock of an id that stands for the login says
// which server has it. A server that ends loses it with its logins.
func (p *replicas) HoldLogin(ctx context.Context, login string) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	return p.locks.Acquire(ctx, lockOfLogin(login))
}

// PassLogin implements [settingsroutes.Replicas].
func (p *replicas) PassLogin(w http.ResponseWriter, r *http.Request, login string) bool {
	if p == nil || r.Header.Get(passedOn) != "" {
		return false
	}
	return p.passTo(w, r, []event.ConversationID{lockOfLogin(login)}, "the server at which this login was begun does not answer; begin it again")
}

// lockOfLogin is the id of the lock of a login. The database shows nothing of the login itself.
func lockOfLogin(login string) event.ConversationID {
	sum := sha256.Sum256([]byte("login\n" + login))
	id, _ := event.ParseConversationID(hex.EncodeToString(sum[:16])) // 32 digits always are one
	return id
}

// passTo answers a request if another server holds the lock of one of some ids. gone is the answer
// if that server does not answer.
func (p *replicas) passTo(w http.ResponseWriter, r *http.Request, ids []event.ConversationID, gone string) bool {
	for end := time.Now().Add(endedTime); ; {
		to := p.holder(r, ids)
		switch {
		case to == nil:
			return false
		case p.forward(w, r, to, gone, time.Now().After(end)):
			return true
		}
		timer := time.NewTimer(endedPause)
		select {
		case <-timer.C:
		case <-r.Context().Done():
			timer.Stop()
			return true
		}
	}
}

// holder returns the address of the other server that works on one of some conversations,
// nil if there is none.
func (p *replicas) holder(r *http.Request, ids []event.ConversationID) *url.URL {
	address, err := p.locks.Holder(r.Context(), ids...)
	if err != nil { // this server names the mistake, if it concerns the request
		p.log.Warn("find the server of a conversation", "path", r.URL.Path, "err", err)
		return nil
	}
	if address == "" {
		return nil
	}
	to, err := url.Parse(address)
	if err != nil {
		p.log.Error("the address of another server is none", "address", address, "err", err)
		return nil
	}
	return to
}

// forward has another server answer a request. It returns false if that one cannot be
// reached, so that it has received nothing, unless it is the last try.
func (p *replicas) forward(w http.ResponseWriter, r *http.Request, to *url.URL, gone string, last bool) (answered bool) {
	answered = true
	(&httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(to)
			pr.Out.Host = pr.In.Host // browsers' origins are compared with it
			pr.Out.Header["X-Forwarded-For"] = pr.In.Header["X-Forwarded-For"]
			pr.Out.Header["X-Forwarded-Proto"] = pr.In.Header["X-Forwarded-Proto"]
			pr.Out.Header.Set(passedOn, "1")
			if pr.Out.Body != nil {
				pr.Out.Body = io.NopCloser(pr.In.Body) // it is read by this server if the other one is gone
			}
		},
		Transport: p.transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && !last {
				answered = false
				return
			}
			if r.Context().Err() != nil {
				return
			}
			p.log.Warn("the server that a request is passed on to does not answer", "server", to, "err", err)
			w.Header().Set("Retry-After", "2")
			if err := rest.JSON(w, http.StatusServiceUnavailable, map[string]string{"detail": gone}); err != nil {
				p.log.Debug("answer a request", "err", err)
			}
		},
	}).ServeHTTP(w, r)
	return answered
}

// beforeID are the parts of a path behind which a conversation is named.
var beforeID = map[string]bool{"conversations": true, "app-conversations": true, "conversation": true}

// subjects returns the conversations that a request works with.
func (p *replicas) subjects(r *http.Request, sandbox string) ([]event.ConversationID, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts[:len(parts)-1] {
		id, ok := event.ParseConversationID(parts[i+1])
		if !ok {
			continue
		}
		switch {
		case beforeID[part], part == "events" && i > 0 && parts[i-1] == "sockets":
			return []event.ConversationID{id}, nil
		case part == "sandboxes":
			return p.inSandbox(r.Context(), id.Hex())
		}
	}
	for _, name := range []string{"conversation_id", "conversation_id__eq"} {
		if id, ok := event.ParseConversationID(r.URL.Query().Get(name)); ok {
			return []event.ConversationID{id}, nil
		}
	}
	if sandbox == "" {
		return nil, nil
	}
	ids, err := p.inSandbox(r.Context(), sandbox)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return ids, err
}

// conversationLock is the lock of several servers as package session has it: the engine of
// jobs gets the ids that servers lock for their jobs.
type conversationLock struct {
	session.LockWatcher
	jobs      *job.Engine
	callbacks *callbacks.Service
}

// lockOfConversations returns lock if this server is alone.
func lockOfConversations(lock session.Lock, jobs *job.Engine, c *callbacks.Service) session.Lock {
	if w, ok := lock.(session.LockWatcher); ok {
		return conversationLock{w, jobs, c}
	}
	return lock
}

// Watch implements [session.LockWatcher].
func (l conversationLock) Watch(ctx context.Context, orphaned, lost func(event.ConversationID)) error {
	return l.LockWatcher.Watch(ctx, func(id event.ConversationID) {
		if !l.jobs.Orphaned(id) {
			l.callbacks.Orphaned(id)
			orphaned(id)
		}
	}, func(id event.ConversationID) {
		if !l.jobs.Lost(id) {
			lost(id)
		}
	})
}
