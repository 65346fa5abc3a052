package terminal

import "github.com/deft-dev/deft/internal/spawn"

// Starter starts the shells of many terminals of one process at a cost that does
// not grow with the descriptors that the process has open. It is safe for
// concurrent use.
type Starter struct{ spawn *spawn.Starter }

// NewStarter makes a Starter. Make it early: its thread begins with a copy of all
// descriptors. It fails if the system does not permit it; use a nil *Starter
// then, which starts shells in the ordinary way.
func NewStarter() (*Starter, error) {
	s, err := spawn.New()
	if err != nil {
		return nil, err
	}
	return &Starter{s}, nil
}

// Close ends the Starter. Shells that it has started go on.
func (s *Starter) Close() { s.inner().Close() }

// inner returns nil for a nil Starter, which spawn accepts.
func (s *Starter) inner() *spawn.Starter {
	if s == nil {
		return nil
	}
	return s.spawn
}
