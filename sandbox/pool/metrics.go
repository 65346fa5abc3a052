package pool

import "time"

// Metrics count the members of a class since the pool was made.
type Metrics struct {
	Class  Class
	Wanted int // ready members, as configured
	Ready  int
	Making int
	// Hits and Misses are claims.
	Hits, Misses uint64
	// Made, Failed and Expired are members. Failed ones could not be started, or ended
	// or did not answer while they waited.
	Made, Failed, Expired uint64
	// Oldest is the age of the oldest member that waits.
	Oldest time.Duration
}

// Metrics returns the metrics of each class.
func (p *Pool) Metrics() []Metrics {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Metrics
	for name, c := range p.classes {
		m := c.metrics
		m.Class, m.Wanted, m.Ready, m.Making = name, c.size.Ready, len(c.ready), c.making
		if len(c.ready) > 0 {
			m.Oldest = time.Since(c.ready[0].Made)
		}
		all = append(all, m)
	}
	return all
}
