package executor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/deft-dev/deft/event"
)

// compactAt is the number of dead bytes from which a compaction is worthwhile.
const compactAt = 1 << 20

// compact rewrites the file so that it holds only unacknowledged records. There is
// no second file, so it happens in place, in steps that each leave a journal with
// the same content:
//
//  1. copies of the live records are appended (a repeated record has no effect);
//  2. the header moves the start to the copies: all before is dead;
//  3. the copies are copied to the front, into dead space;
//  4. the header moves the start there and sets the limit behind them;
//  5. the file is cut at the limit;
//  6. the header clears the limit.
//
// Dead bytes outnumber live ones when it is called, so that step 3 does not
// overlap.
func (j *Journal) compact() error {
	first := j.end
	moved, err := j.appendLive()
	if err != nil {
		return fmt.Errorf("compact the journal: %w", err)
	}
	if j.end-first > first-headerSize {
		return nil // the copies do not fit; they are merely repeated records
	}
	for _, step := range j.moveDown(first) {
		if err := step(); err != nil {
			// Memory and file differ now. Further records would be appended
			// where the next process does not read.
			j.broken = fmt.Errorf("compact the journal: %w", err)
			return j.broken
		}
	}
	for _, e := range moved {
		e.off -= first - headerSize
	}
	maps.DeleteFunc(j.index, func(_ event.ID, e *entry) bool { return e.acked })
	return nil
}

// moveDown returns steps 2 to 6 for copies that begin at first.
func (j *Journal) moveDown(first int64) []func() error {
	return []func() error{
		func() error { j.head.start = first; return j.writeHeader() },
		func() error { return j.copyDown(first, j.end) },
		func() error {
			j.head.start, j.head.limit = headerSize, headerSize+j.end-first
			return j.writeHeader()
		},
		func() error { return j.file.Truncate(j.head.limit) },
		func() error { j.end, j.head.limit = j.head.limit, 0; return j.writeHeader() },
	}
}

// appendLive appends copies of the live records and points the index at them.
func (j *Journal) appendLive() ([]*entry, error) {
	var moved []*entry
	for _, id := range slices.Sorted(maps.Keys(j.index)) {
		e := j.index[id]
		if e.acked {
			continue
		}
		r := record{kind: recordStarted, id: id}
		if e.state == stateFinished && e.kept == nil {
			stored, err := readRecord(j.file, e.off, e.size)
			if err != nil {
				return nil, err
			}
			r = stored
		}
		off, _, err := j.append(r)
		if err != nil {
			return nil, err
		}
		e.off = off
		moved = append(moved, e)
	}
	return moved, nil
}

// copyDown copies the bytes from..to to the front of the file.
func (j *Journal) copyDown(from, to int64) error {
	buf := make([]byte, 256<<10)
	for at := int64(headerSize); from < to; {
		n, err := j.file.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if err != nil {
			return err
		}
		if _, err := j.file.WriteAt(buf[:n], at); err != nil {
			return err
		}
		from, at = from+int64(n), at+int64(n)
	}
	return nil
}
