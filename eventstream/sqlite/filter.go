package sqlite

// filter tells of most ids of a log's indexed events that they are new,
// without a look into the table: a Bloom filter with three bits for each.
type filter struct {
	bits []uint64
	n    int // entries
}

const (
	filterBits = 16 // for each entry; one new id in 200 is looked up in vain
	// maxFilters bounds the memory of all filters, in bytes.
	maxFilters = 16 << 20
)

// newFilter makes a filter for so many entries.
func newFilter(n int) *filter { return &filter{bits: make([]uint64, (n*filterBits+63)/64)} }

func (f *filter) full() bool { return f.n*filterBits >= len(f.bits)*64 }

// at returns the places of the three bits of a hash.
func (f *filter) at(hash uint32) [3]uint64 {
	x := uint64(hash) * 0x9e3779b97f4a7c15 // spreads hashes that are alike
	m := uint64(len(f.bits)) * 64
	step := x>>40 | 1
	return [3]uint64{(x >> 8) % m, (x>>8 + step) % m, (x>>8 + 2*step) % m}
}

func (f *filter) add(hash uint32) {
	for _, b := range f.at(hash) {
		f.bits[b/64] |= 1 << (b % 64)
	}
	f.n++
}

func (f *filter) has(hash uint32) bool {
	for _, b := range f.at(hash) {
		if f.bits[b/64]&(1<<(b%64)) == 0 {
			return false
		}
	}
	return true
}

// learn makes the filter of a log. It reads all its buckets, and so is called
// after as many look-ups only.
func (w *writer) learn(h *head) error {
	n := int(h.indexed - h.base)
	size := 0
	for _, other := range w.heads {
		if other.known != nil {
			size += len(other.known.bits) * 8
		}
	}
	if size+2*n*filterBits/8 > maxFilters {
		for _, other := range w.heads {
			other.known = nil
		}
	}
	h.asked = 0
	if 2*n*filterBits/8 > maxFilters {
		return nil
	}
	f := newFilter(max(512, 2*n))
	if n > 0 {
		if err := h.knowBuckets(w.c); err != nil {
			return err
		}
		for b := range h.buckets {
			body, err := loadBucket(w.c, lumpKey(h.log, b))
			if err != nil {
				return err
			}
			for _, e := range entries(body, nil) {
				f.add(e.hash)
			}
		}
	}
	h.known = f
	return nil
}
