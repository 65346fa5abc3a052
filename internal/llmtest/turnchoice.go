package llmtest

import (
	"cmp"
	"fmt"
	"sync"
)

// maxSessions is the maximum number of sessions whose position in the script is
// kept.
const maxSessions = 1 << 20

// turnChooser selects turns and keeps the position of each session in the
// script. Its methods are safe for concurrent use.
type turnChooser struct {
	prog *program

	mu       sync.Mutex
	sessions map[string]*progress
	answered []bool // by turn: it gave an answer or a fault at least once
}

// progress is one session's position in the script.
type progress struct {
	calls  int
	first  int         // turns before this one are used up
	used   map[int]int // answers given, by turn index, for turns from first on
	faults map[int]int // times a fault occurred, by turn index
}

func newTurnChooser(p *program) *turnChooser {
	return &turnChooser{prog: p, sessions: make(map[string]*progress), answered: make([]bool, len(p.turns))}
}

// enter counts the request in its session and sets r.Call.
func (p *turnChooser) enter(r *Request) (*progress, error) {
	key := ""
	if p.prog.PerSession {
		key = r.Session
	}
	s := p.sessions[key]
	if s == nil {
		if len(p.sessions) >= maxSessions {
			return nil, fmt.Errorf("more than %d sessions", maxSessions)
		}
		s = &progress{}
		p.sessions[key] = s
	}
	s.calls++
	r.Call = s.calls
	return s, nil
}

// pick selects the turn that answers r, counts it as used, and returns its
// fault if that occurs. It also sets r.Call.
func (p *turnChooser) pick(r *Request) (t *turn, f *Fault, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := p.enter(r)
	if err != nil {
		return nil, nil, err
	}
	if p.prog.ByHistory {
		t = p.byHistory(s, r)
	} else {
		t = p.inOrder(s, r)
	}
	t = cmp.Or(t, p.prog.fallback)
	if t == nil {
		return nil, nil, p.exhausted(s, r)
	}
	if t.index >= 0 {
		p.answered[t.index] = true
	}
	return t, s.take(t), nil
}

// take counts one answer of t, and returns the fault if it occurs.
func (s *progress) take(t *turn) *Fault {
	if f := t.Fault; f != nil && (f.Times == 0 || s.faults[t.index] < f.Times) {
		if f.Times == 0 {
			s.use(t)
			return f
		}
		if s.faults == nil {
			s.faults = make(map[int]int)
		}
		s.faults[t.index]++
		return f
	}
	s.use(t)
	return nil
}

func (s *progress) use(t *turn) {
	if t.Repeat == Forever || t.numbered {
		return
	}
	if s.used == nil {
		s.used = make(map[int]int)
	}
	s.used[t.index]++
}

func (p *turnChooser) inOrder(s *progress, r *Request) *turn {
	turns := p.prog.turns
	for s.first < len(turns) && s.usedUp(turns[s.first]) {
		delete(s.used, s.first)
		delete(s.faults, s.first)
		s.first++
	}
	for _, t := range turns[s.first:] {
		if !s.usedUp(t) && t.match.fits(r) {
			return t
		}
	}
	return nil
}

func (s *progress) usedUp(t *turn) bool {
	return t.Repeat != Forever && s.used[t.index] >= int(t.Repeat)
}

func (p *turnChooser) byHistory(s *progress, r *Request) *turn {
	for _, t := range p.prog.matched {
		if !s.usedUp(t) && t.match.fits(r) {
			return t
		}
	}
	if r.assistantTurns < len(p.prog.numbered) {
		return p.prog.numbered[r.assistantTurns]
	}
	return p.prog.onward
}

func (p *turnChooser) exhausted(s *progress, r *Request) error {
	if p.prog.ByHistory {
		return fmt.Errorf("script exhausted: the request holds %d assistant messages, and the script has %d turns", r.assistantTurns, len(p.prog.numbered))
	}
	if s.first < len(p.prog.turns) {
		return fmt.Errorf("no turn of the script fits the request (call %d of the session)", r.Call)
	}
	return fmt.Errorf("script exhausted after %d turns", len(p.prog.turns))
}

// unused returns the names of turns that never answered.
func (p *turnChooser) unused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for i, t := range p.prog.turns {
		if !p.answered[i] {
			names = append(names, t.Name)
		}
	}
	return names
}
