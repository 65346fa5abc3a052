package actionserver

import (
	"cmp"
	"sync"
	"time"
)

// presence detects that no controller has been connected for the grace time, or for the time
// that the last work asked for. No timer runs while one is connected.
type presence struct {
	grace   time.Duration
	asked   time.Duration // in place of grace; 0 for none
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
			p.timer.Reset(cmp.Or(p.asked, p.grace))
		}
	}
}

// linger sets the time that is waited once the last controller has left, until there is new
// work; 0 is the grace time. The caller is a controller.
func (p *presence) linger(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = d
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
