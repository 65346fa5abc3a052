package sqlite

import (
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
)

// label is a pair of kind and source.
type label struct {
	kind   string
	source event.Source
}

// labels is the content of the table labels. The table only grows, so that a
// miss is the one sign that this copy is old.
type labels struct {
	mu   sync.RWMutex
	name map[int64]label
	num  map[label]int64
}

// load replaces the copy with what c sees.
func (l *labels) load(c *conn) error {
	name, num := map[int64]label{}, map[label]int64{}
	r := c.query("SELECT label, kind, source FROM labels")
	for r.next() {
		n, v := r.int(0), label{r.text(1), event.Source(r.text(2))}
		name[n], num[v] = v, n
	}
	if err := r.close(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name, l.num = name, num
	return nil
}

func (l *labels) get(n int64) (label, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v, ok := l.name[n]
	return v, ok
}

// resolve is get that looks into the table when the copy has no such label:
// another process may have added it. That the table cannot be read shows as
// an unknown label.
func (l *labels) resolve(c *conn, n int64) (label, bool) {
	v, ok := l.get(n)
	if !ok && l.load(c) == nil {
		v, ok = l.get(n)
	}
	return v, ok
}

// number returns the number of a label and adds it to the table when it is
// new. Only the writer calls it, in a transaction; after a rollback it must
// load again.
func (l *labels) number(c *conn, v label) (int64, error) {
	l.mu.RLock()
	n, ok := l.num[v]
	l.mu.RUnlock()
	if ok {
		return n, nil
	}
	if _, err := c.exec("INSERT INTO labels (kind, source) VALUES (?, ?) ON CONFLICT DO NOTHING", v.kind, string(v.source)); err != nil {
		return 0, err
	}
	n, _, err := c.number("SELECT label FROM labels WHERE kind = ? AND source = ?", v.kind, string(v.source))
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name[n], l.num[v] = v, n
	return n, nil
}

// matching returns the numbers of the labels of any of the kinds (all when
// empty) and of the source (all when empty), in order.
func (l *labels) matching(kinds []string, source event.Source) []int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []int64
	for v, n := range l.num {
		if (len(kinds) == 0 || slices.Contains(kinds, v.kind)) && (source == "" || source == v.source) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}
