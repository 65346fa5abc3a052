package actionserver

import (
	"sync"
	"time"
)

// presence tells when no controller has been there for the grace time. No
// timer runs while one is.
type presence struct {
	grace   time.Duration
	expired chan struct{} // closed when the time is over

	mu    sync.Mutex
	count int
	ended bool
	timer *time.Timer
}

func newPresence(grace time.Duration) *presence {
	p := &presence{grace: grace, expired: make(chan struct{})}
	p.timer = time.AfterFunc(grace, p.expire)
	return p
}

// enter says that a controller is there until the returned func is called.
func (p *presence) enter() (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.timer.Stop()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.count--; p.count == 0 && !p.ended {
			p.timer.Reset(p.grace)
		}
	}
}

func (p *presence) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == 0 && !p.ended { // nobody came between the timer and the lock
		p.ended = true
		close(p.expired)
	}
}

func (p *presence) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.timer.Stop()
}
