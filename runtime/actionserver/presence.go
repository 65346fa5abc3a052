package actionserver

import (
	"sync"
	"time"
)

// presence detects that no controller has been connected for the grace time. No
// timer runs while one is connected.
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

// enter records a connected controller until the returned func is called.
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
	if p.count == 0 && !p.ended { // none connected between the timer and the lock
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
