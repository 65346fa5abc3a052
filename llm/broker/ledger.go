package broker

import (
	"sync"
	"time"

	"github.com/deft-dev/deft/llm"
)

// Ledger keeps the metrics of all services (usage ids) of a conversation. The
// zero value is ready to use.
type Ledger struct {
	mu       sync.Mutex
	services map[string]*llm.Metrics
}

// Account returns a hook for [Options.OnAnswer] that accounts for a service.
// now is the clock; nil for the real one.
func (l *Ledger) Account(service string, now func() time.Time) func(llm.Info, *llm.Response) {
	if now == nil {
		now = time.Now
	}
	return func(info llm.Info, r *llm.Response) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.services == nil {
			l.services = map[string]*llm.Metrics{}
		}
		m := l.services[service]
		if m == nil {
			m = &llm.Metrics{}
			l.services[service] = m
		}
		m.Add(info, r, now())
	}
}

// Metrics returns a copy of the metrics by service.
func (l *Ledger) Metrics() map[string]llm.Metrics {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]llm.Metrics, len(l.services))
	for name, m := range l.services {
		out[name] = m.Clone()
	}
	return out
}
