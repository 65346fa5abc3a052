package webhook

import (
	"container/heap"
	"encoding/json"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/agentserver/config"
)

// endpoint posts to one URL. It holds only the conversations with something to
// deliver.
type endpoint struct {
	s    *Service
	spec config.Webhook
	name string
	news chan struct{}

	mu      sync.Mutex
	jobs    map[event.ConversationID]*job
	queue   queue // waiting jobs, soonest first
	running int
	pending int // bytes given to Tell and Show and not delivered
	closing bool
	drained chan struct{} // closed when closing and only retries are left
}

// job is a conversation that has something to deliver.
type job struct {
	id       event.ConversationID
	due      time.Time
	place    int // in the queue; -1 while it runs
	events   int // not delivered, as far as is known
	flushAt  time.Time
	infos    []json.RawMessage
	state    json.RawMessage // to be posted behind the events
	describe bool            // an info is to be made, before all else
	failures int             // in a row
	waiting  []chan struct{}
}

func newEndpoint(s *Service, spec config.Webhook) *endpoint {
	return &endpoint{
		s: s, spec: spec, name: name(spec), news: make(chan struct{}, 1),
		jobs: map[event.ConversationID]*job{},
	}
}

// job returns the conversation's job. The lock is held.
func (e *endpoint) job(id event.ConversationID) *job {
	j := e.jobs[id]
	if j == nil {
		j = &job{id: id}
		e.jobs[id] = j
		heap.Push(&e.queue, j)
	}
	return j
}

// wake adds new events, which are delivered when they fill a batch or their delay
// is over.
func (e *endpoint) wake(id event.ConversationID, n int) {
	if n == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.more(e.job(id), n)
}

// resume adds events that were not delivered when the service last ended.
func (e *endpoint) resume(id event.ConversationID, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.job(id)
	j.describe = e.s.o.Describe != nil
	e.more(j, n)
	j.flushAt = time.Now()
	e.plan(j)
}

// more adds events to a job. The lock is held.
func (e *endpoint) more(j *job, n int) {
	if j.events == 0 {
		j.flushAt = time.Now().Add(seconds(e.spec.FlushDelay))
	}
	j.events += n
	if e.closing {
		j.flushAt = time.Now()
	}
	e.plan(j)
}

// tell adds a description of a conversation.
func (e *endpoint) tell(id event.ConversationID, info json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.job(id)
	for len(j.infos) > 1 && e.pending+len(info) > e.spec.MaxQueueBytes {
		e.pending -= len(j.infos[1]) // the first may be being posted
		j.infos = append(j.infos[:1:1], j.infos[2:]...)
		e.s.o.Log.Warn("a newer state of a conversation replaced an undelivered one", "conversation", id, "endpoint", e.name)
	}
	if e.pending+len(info) > e.spec.MaxQueueBytes && e.pending > 0 {
		e.s.o.Log.Error("too much is undelivered to an endpoint: a conversation's state was dropped", "conversation", id, "endpoint", e.name)
		return
	}
	e.pending += len(info)
	j.infos = append(j.infos, info)
	e.plan(j)
}

// show sets a conversation's state, which is posted after its events.
func (e *endpoint) show(id event.ConversationID, state json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.job(id)
	e.pending -= len(j.state)
	if e.pending+len(state) > e.spec.MaxQueueBytes && e.pending > 0 {
		j.state = nil
		e.s.o.Log.Warn("too much is undelivered to an endpoint: a conversation's state was skipped", "conversation", id, "endpoint", e.name)
	} else {
		j.state = state
		e.pending += len(state)
	}
	e.more(j, 1)
}

// flush makes a conversation's job due and returns a channel that is closed when
// it is done.
func (e *endpoint) flush(id event.ConversationID) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	done := make(chan struct{})
	j := e.jobs[id]
	if j == nil {
		close(done)
		return done
	}
	j.waiting = append(j.waiting, done)
	j.flushAt = time.Now()
	e.plan(j)
	return done
}

// drain makes all jobs due and returns a channel that is closed when only failed
// ones are left.
func (e *endpoint) drain() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	done := make(chan struct{})
	e.drained, e.closing = done, true
	now := time.Now()
	for _, j := range e.jobs {
		j.flushAt = now
		e.plan(j)
	}
	e.settle()
	return done
}

// settle reports the end of drain. The lock is held.
func (e *endpoint) settle() {
	if !e.closing || e.drained == nil || e.running > 0 {
		return
	}
	for _, j := range e.jobs {
		if j.failures == 0 {
			return
		}
	}
	close(e.drained)
	e.drained = nil
}

// plan decides when a job is due. The lock is held.
func (e *endpoint) plan(j *job) {
	if j.place < 0 || j.failures > 0 {
		return // it runs, or waits for a retry
	}
	now := time.Now()
	switch {
	case len(j.infos) > 0, j.events >= e.spec.EventBufferSize:
		j.due = now
	default:
		j.due = j.flushAt
	}
	heap.Fix(&e.queue, j.place)
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// run starts jobs when they are due.
func (e *endpoint) run() {
	var wg sync.WaitGroup
	defer wg.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		e.mu.Lock()
		wait := time.Hour
		for e.running < e.s.o.Posts && len(e.queue) > 0 {
			if wait = time.Until(e.queue[0].due); wait > 0 {
				break
			}
			j := heap.Pop(&e.queue).(*job)
			e.running++
			wg.Go(func() { e.finish(j, e.work(j)) })
			wait = time.Hour
		}
		e.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-e.news:
		case <-timer.C:
		case <-e.s.ctx.Done():
			return
		}
	}
}

// finish puts a job back into the queue, or removes it when nothing is left.
func (e *endpoint) finish(j *job, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if err != nil {
		j.failures++
	} else {
		j.failures = 0
	}
	if err == nil && j.events == 0 && len(j.infos) == 0 {
		delete(e.jobs, j.id)
		for _, done := range j.waiting {
			close(done)
		}
	} else {
		heap.Push(&e.queue, j)
		if err != nil {
			j.due = time.Now().Add(pause(&e.spec, j.failures))
			heap.Fix(&e.queue, j.place)
		} else {
			e.plan(j)
		}
	}
	e.settle()
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// queue is a heap of jobs by their due time.
type queue []*job

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, k int) bool { return q[i].due.Before(q[k].due) }
func (q queue) Swap(i, k int) {
	q[i], q[k] = q[k], q[i]
	q[i].place, q[k].place = i, k
}

// Push implements [heap.Interface].
func (q *queue) Push(x any) {
	j := x.(*job)
	j.place = len(*q)
	*q = append(*q, j)
}

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	j.place = -1
	return j
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// maxPause bounds the pauses between attempts.
const maxPause = 5 * time.Minute

// pause returns how long to wait after a number of failed attempts.
func pause(w *config.Webhook, failures int) time.Duration {
	d := seconds(w.RetryDelay)
	if failures <= w.NumRetries {
		return d
	}
	d = max(d, seconds(w.FlushDelay))
	for range min(failures-w.NumRetries-1, 20) {
		d = min(2*d, maxPause)
	}
	return d
}
