package store

// Version is the version of the tables, Oldest the lowest one that is upgraded.
var (
	Version = version
	Oldest  = oldest
)

// Starting is the query for an owner's conversations that are started or replay.
const Starting = starting

// Age makes the recent rows as old as they may be.
func (s *Store) Age() {
	age(&s.keys)
	age(&s.members)
}

func age[K comparable, V any](r *recent[K, V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, e := range r.all {
		e.at = e.at.Add(-recentTime)
		r.all[k] = e
	}
}
