package sqlite

import (
	"bytes"

	"github.com/deft-dev/deft/eventstream"
)

// item is an event that is wanted: its number in its log, and its place.
type item struct {
	seq eventstream.Seq
	spot
}

// items lists the events of a run.
func (r *run) items(buf []item) []item {
	for i, s := range r.spots {
		buf = append(buf, item{r.first + eventstream.Seq(i), s})
	}
	return buf
}

// fetcher reads records by their places. It must be closed before its
// connection is used for another fetcher.
type fetcher struct {
	db      *conn
	resolve func(int64) (label, bool)

	r    *rows // chunks up to end, if it is not nil
	end  int64
	at   int64 // the chunk that body is, 0 for none
	body []byte
}

func newFetcher(db *conn, l *labels) *fetcher {
	return &fetcher{db: db, resolve: func(n int64) (label, bool) { return l.resolve(db, n) }}
}

// maxGap is up to which distance of two chunks walking from one to the other
// costs less than looking the other up.
const maxGap = 2

// fetch reads events of one log, whose chunks ascend, until visit says no. It
// returns how many it has read and why it could not read the next one.
func (f *fetcher) fetch(log int64, items []item, visit func(eventstream.Record) bool) (n int, why string, err error) {
	for i, it := range items {
		if it.chunk != f.at {
			if err := f.seek(items[i:]); err != nil {
				return i, "", err
			}
		}
		if it.chunk != f.at {
			return i, "it is missing", nil
		}
		b := recordAt(f.body, it.slot)
		if len(b) == 0 {
			return i, "it is missing", nil
		}
		p, rec, why := unpack(b, f.resolve)
		if why == "" && (p.log != log || p.seq != it.seq) {
			why = "another one is in its place"
		}
		if why != "" {
			return i, why, nil
		}
		if 4*len(rec.JSON) < len(f.body) {
			rec.JSON = bytes.Clone(rec.JSON) // or it would keep the whole chunk alive
		}
		if !visit(rec) {
			return i + 1, "", nil
		}
	}
	return len(items), "", nil
}

// seek loads the chunk of the first item, if it exists.
func (f *fetcher) seek(items []item) error {
	n := items[0].chunk
	if f.r == nil || n > f.end || n < f.at {
		if err := f.close(); err != nil {
			return err
		}
		f.end = n
		for _, it := range items[1:] {
			if it.chunk-f.end > maxGap {
				break
			}
			f.end = max(f.end, it.chunk)
		}
		f.r = f.db.query("SELECT chunk, recs FROM chunks WHERE chunk >= ? AND chunk <= ? ORDER BY chunk", n, f.end)
	}
	f.body = nil
	for f.r.next() {
		if f.at = f.r.int(0); f.at >= n {
			f.body = f.r.blob(1)
			return f.r.err
		}
	}
	return f.close()
}

func (f *fetcher) close() error {
	if f.r == nil {
		return nil
	}
	r := f.r
	f.r, f.at, f.body = nil, 0, nil
	return r.close()
}
