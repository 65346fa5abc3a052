package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
)

// Pool shares the sessions at remote servers between conversations of one owner: those whose
// configuration of a server is the same have one session, which ends with the last of them. Servers
// over stdio are each conversation's own. The zero value is ready; it is safe for concurrent use.
type Pool struct {
	mu  sync.Mutex
	all map[string]*pooled
}

// pooled is the session that some servers share.
type pooled struct {
	pool *Pool
	key  string
	refs int // servers; guarded by pool.mu

	opening chan struct{} // holds one; taken while the session is opened

	mu      sync.Mutex
	session *session       // nil before the first and after the last
	work    sync.WaitGroup // of sessions; whoever closes one waits for it
}

// enter returns the shared session of an owner's server, which leaves by exit.
func (p *Pool) enter(owner string, config Server) (*pooled, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte(owner+"\n"), raw...))
	key := hex.EncodeToString(sum[:]) // it holds secrets
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*pooled{}
	}
	s := p.all[key]
	if s == nil {
		s = &pooled{pool: p, key: key, opening: make(chan struct{}, 1)}
		p.all[key] = s
	}
	s.refs++
	return s, nil
}

func (p *pooled) exit() {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	if p.refs--; p.refs == 0 {
		delete(p.pool.all, p.key)
	}
}

// join returns the live session with s among its users, nil if there is none.
func (p *pooled) join(s *server) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil || p.session.over() {
		return nil
	}
	p.session.users.add(s)
	return p.session
}

func (p *pooled) put(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session = s
}

// leave takes a server out of the users of a session, and reports whether it was the last one.
func (p *pooled) leave(s *server, live *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := live.users.remove(s)
	if last && p.session == live {
		p.session = nil
	}
	return last
}

// users are the servers of a session: one, or several that share it.
type users struct {
	mu      sync.Mutex
	all     map[*server]bool
	secrets []string // of its login; new users are told
}

// maxSecrets bounds the secrets that new users are told, of which a renewal brings three.
const maxSecrets = 30

func (u *users) add(s *server) {
	u.mu.Lock()
	if u.all == nil {
		u.all = map[*server]bool{}
	}
	u.all[s] = true
	secrets := u.secrets
	u.mu.Unlock()
	s.set.opts.Track(secrets...)
}

func (u *users) remove(s *server) (last bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, s)
	return len(u.all) == 0
}

// announced tells all that a change of the list of tools was read.
func (u *users) announced() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for s := range u.all {
		s.changes.announce()
	}
}

// changed tells all of a change of the list of tools. read says that announced has done so.
func (u *users) changed(read bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for s := range u.all {
		s.changes.take(read)
	}
}

// track tells all of secrets of the login.
func (u *users) track(values ...string) {
	u.mu.Lock()
	u.secrets = append(u.secrets[max(0, len(u.secrets)+len(values)-maxSecrets):len(u.secrets):len(u.secrets)], values...)
	all := make([]*server, 0, len(u.all))
	for s := range u.all {
		all = append(all, s)
	}
	u.mu.Unlock()
	for _, s := range all {
		s.set.opts.Track(values...)
	}
}
