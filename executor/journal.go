package executor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

const (
	// maxRecord bounds one record; a longer result is recorded as a failure.
	maxRecord = 128 << 20
	// maxJournal is the size at which new actions are refused, because results
	// are evidently no longer acknowledged.
	maxJournal = 1 << 30
	bootIDPath = "/proc/sys/kernel/random/boot_id"
)

// state is the journal's record of an id.
type state uint8

const (
	stateUnknown state = iota
	stateStarted
	stateFinished
)

// entry is one id in the index. Payloads stay in the file.
type entry struct {
	state state
	acked bool
	off   int64   // of the finished record's frame
	size  int64   // of the frame of the started or the finished record
	kept  *result // in memory instead of the file
}

// Journal durably records which actions an [Executor] has started, and how they
// ended. It is one open file, which needs no path, and it is bounded:
// acknowledged results are dropped by compaction in place.
//
// # When a missing id proves that an action never started
//
// After kill -9 the file is complete up to the last write, so an id that is
// not in it was never started. That is no longer true, for the rest of the
// file's use, if the machine has been booted since the file was last open (the
// unsynced end may be missing) or if anything but a torn last record is
// damaged. A file that was empty proves nothing until [Executor.Prepare], or
// until the first action without Again has been started: until then it may be
// the replacement of a journal that was lost. A controller that comes back must
// therefore ask for its pending actions before it does either.
//
// # Concurrency
//
// All methods are safe for concurrent use. One process uses the file at a
// time, which flock enforces.
type Journal struct {
	mu    sync.Mutex
	file  *os.File // nil for a volatile journal
	head  header
	end   int64 // where the next record goes
	live  int64 // bytes of records that are not acknowledged
	index map[event.ID]*entry
	err   error // first background failure
	// broken stops all writing after a compaction that failed half way.
	broken error
	close  bool

	syncer syncer
}

// InMemoryRepeatable returns a journal without a file: results are kept until they
// are acknowledged or the process ends. An unknown id counts as never started,
// so use it only for tools without an effect outside the process (think,
// finish), and in tests.
func InMemoryRepeatable() *Journal {
	return &Journal{index: map[event.ID]*entry{}, head: header{proof: proofComplete}}
}

// InMemory is InMemoryRepeatable for tools that have an effect outside the
// process: a request with Again for an unknown id is answered with
// fault.Interrupted and not run.
func InMemory() *Journal {
	return &Journal{index: map[event.ID]*entry{}, head: header{proof: proofLost}}
}

// OpenJournal reads the journal in f, which must be open for reading and
// writing, and takes it over. An empty file is a new journal. A record torn by
// a crash is cut off; records behind a damaged one are kept.
//
// The error is of kind fault.Conflict if another process uses the journal.
// f is closed when OpenJournal fails.
func OpenJournal(f *os.File) (*Journal, error) {
	boot, err := os.ReadFile(bootIDPath)
	if err != nil {
		boot = nil // an unknown boot counts as another one: a missing id then proves nothing
	}
	return openJournal(f, strings.TrimSpace(string(boot)))
}

func openJournal(f *os.File, boot string) (*Journal, error) {
	j := &Journal{file: f, index: map[event.ID]*entry{}}
	if err := j.load(boot); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j.syncer.start(f, j.fail)
	return j, nil
}

func (j *Journal) load(boot string) error {
	err := unix.Flock(int(j.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fault.New(fault.Conflict, "another action server uses the journal").Hint("wait until it has ended")
	}
	if err != nil {
		return fmt.Errorf("lock the journal: %w", err)
	}
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	size := info.Size()
	if size == 0 {
		j.head = header{start: headerSize, boot: boot}
		j.end = headerSize
		return j.writeHeader()
	}
	head, ok := readHeader(j.file)
	if !ok {
		head = header{start: headerSize, proof: proofLost}
	}
	if head.limit != 0 && head.limit < size { // killed between two steps of a compaction
		size = head.limit
	}
	cut := head.start > size
	if cut { // not by a compaction: records may be missing
		head.start = headerSize
	}
	end, damaged, err := scan(j.file, head.start, size, j.apply)
	if err != nil {
		return err
	}
	if cut || damaged || head.boot == "" || head.boot != boot {
		head.proof = proofLost
	}
	head.limit, head.boot = 0, boot
	j.head, j.end = head, end
	if err := j.file.Truncate(j.end); err != nil {
		return fmt.Errorf("cut the journal: %w", err)
	}
	return j.writeHeader()
}

// apply adds one record of the file to the index.
func (j *Journal) apply(off, size int64, r record) {
	e := j.index[r.id]
	if e == nil {
		e = &entry{}
		j.index[r.id] = e
	}
	if !e.acked {
		j.live -= e.size
	}
	switch r.kind {
	case recordStarted:
		if e.state == stateUnknown {
			e.state, e.size = stateStarted, size
		}
	case recordObserved, recordFailed:
		e.state, e.off, e.size = stateFinished, off, size
	case recordAcked:
		e.acked = true
	}
	if !e.acked {
		j.live += e.size
	}
}

// lookup returns the state of an id, with the result if it has one.
func (j *Journal) lookup(id event.ID) (result, state, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.index[id]
	switch {
	case e == nil || e.state == stateUnknown:
		return result{}, stateUnknown, nil
	case e.state == stateStarted:
		return result{}, stateStarted, nil
	case e.kept != nil:
		return *e.kept, stateFinished, nil
	case j.close:
		return result{}, stateFinished, errClosed()
	}
	r, err := readRecord(j.file, e.off, e.size)
	if err == nil && r.id != id {
		err = fault.New(fault.Corrupt, "the journal has another action's result at this offset")
	}
	return result{failed: r.kind == recordFailed, json: r.payload}, stateFinished, err
}

// provesNeverStarted reports whether an id that is not in the journal was never
// started.
func (j *Journal) provesNeverStarted() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head.proof == proofComplete
}

// start records that an action is about to run.
func (j *Journal) start(id event.ID, again bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.end > maxJournal {
		return fault.New(fault.Full, "the journal is full of results that were not acknowledged").
			Hint("restart the conversation's sandbox")
	}
	r := record{kind: recordStarted, id: id}
	off, size, err := j.append(r)
	if err != nil {
		return err
	}
	j.apply(off, size, r)
	if !again {
		if err := j.completeLocked(); err != nil {
			j.failLocked(err) // the file then proves less than it could
		}
	}
	return nil
}

// complete records that no pending action can be missing from this file, if it
// is new.
func (j *Journal) complete() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.close {
		return errClosed()
	}
	return j.completeLocked()
}

func (j *Journal) completeLocked() error {
	if j.head.proof != proofFresh {
		return nil
	}
	j.head.proof = proofComplete
	return j.writeHeader()
}

// finish records how an action ended. A result that cannot be written is kept
// in memory.
func (j *Journal) finish(id event.ID, res result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := record{kind: recordObserved, id: id, payload: res.json}
	if res.failed {
		r.kind = recordFailed
	}
	off, size, err := j.append(r)
	j.apply(off, size, r)
	if err != nil {
		j.failLocked(fmt.Errorf("record a result: %w", err))
	}
	if err != nil || j.file == nil {
		j.index[id].kept = &res
	}
}

// ack marks results as stored elsewhere and compacts if that is worthwhile.
func (j *Journal) ack(ids []event.ID) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range ids {
		e := j.index[id]
		if e == nil || e.acked {
			continue
		}
		if j.file == nil {
			delete(j.index, id)
			continue
		}
		r := record{kind: recordAcked, id: id}
		off, size, err := j.append(r)
		if err != nil {
			return err
		}
		j.apply(off, size, r)
		e.kept = nil
	}
	if dead := j.end - headerSize - j.live; j.file != nil && !j.close && j.broken == nil && dead > compactAt && dead > j.live {
		return j.compact()
	}
	return nil
}

// append writes one record at the end. A volatile journal has nothing to write.
func (j *Journal) append(r record) (off, size int64, err error) {
	if j.close {
		return 0, 0, errClosed()
	}
	if j.file == nil || j.broken != nil {
		return 0, 0, j.broken
	}
	frame, err := r.frame()
	if err != nil {
		return 0, 0, err
	}
	off = j.end
	if _, err := j.file.WriteAt(frame, off); err != nil {
		// Half a record at the end would be cut at the next start, but the
		// next append must not follow it.
		return 0, 0, errors.Join(storageError("write the journal", err), j.file.Truncate(off))
	}
	j.end += int64(len(frame))
	j.syncer.wake()
	return off, int64(len(frame)), nil
}

// storageError gives the errors of a full disk their kind.
func storageError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Wrap(err, fault.Full, doing)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func errClosed() error { return fault.New(fault.Unavailable, "the journal is closed") }

func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failLocked(err)
}

func (j *Journal) failLocked(err error) {
	j.err = cmp.Or(j.err, err)
}

// failure returns the first error that was not reported to a caller.
func (j *Journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Close syncs the journal and closes its file. A second Close does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.close || j.file == nil {
		j.close = true
		j.mu.Unlock()
		return nil
	}
	j.close = true
	j.mu.Unlock()
	j.syncer.stop() // its last sync includes everything appended
	return errors.Join(j.failure(), j.file.Close())
}
