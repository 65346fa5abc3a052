package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/view"
)

// work delivers a job. An error means that the endpoint did not accept it and that
// the rest is tried later.
func (e *endpoint) work(j *job) error {
	if err := e.describe(j); err != nil {
		return err
	}
	if err := e.postInfos(j); err != nil {
		return err
	}
	e.mu.Lock()
	known, state := j.events, j.state
	ready := known > 0 && (known >= e.spec.EventBufferSize || !time.Now().Before(j.flushAt) || j.failures > 0)
	if ready {
		j.events, j.state = 0, nil
		e.pending -= len(state)
	}
	e.mu.Unlock()
	if !ready {
		return nil
	}
	err := e.postEvents(j.id, state)
	if err == nil {
		return nil
	}
	if fault.Is(err, fault.NotFound) { // deleted; nothing is left to deliver
		return e.s.o.Cursors.Forget(j.id)
	}
	e.mu.Lock()
	j.events += known
	if j.state == nil { // else there is a newer one
		j.state = state
		e.pending += len(state)
	}
	e.mu.Unlock()
	e.complain("events", j, err)
	return err
}

func (e *endpoint) complain(what string, j *job, err error) {
	if e.s.ctx.Err() == nil {
		e.s.o.Log.Warn("a webhook failed", "what", what, "conversation", j.id, "endpoint", e.name, "failures", j.failures+1, "error", err)
	}
}

// describe posts a conversation's info before its remaining events.
func (e *endpoint) describe(j *job) error {
	e.mu.Lock()
	wanted := j.describe && len(j.infos) == 0 // a later one will do
	j.describe = wanted
	e.mu.Unlock()
	if !wanted {
		return nil
	}
	info, err := e.s.o.Describe(e.s.ctx, j.id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		e.complain("info", j, err)
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j.describe = false
	if err == nil {
		e.pending += len(info)
		j.infos = append([]json.RawMessage{info}, j.infos...)
	}
	return nil
}

// postInfos posts the descriptions given to Tell, in order.
func (e *endpoint) postInfos(j *job) error {
	for {
		e.mu.Lock()
		if len(j.infos) == 0 {
			e.mu.Unlock()
			return nil
		}
		info := j.infos[0]
		e.mu.Unlock()
		err := e.post(url(e.spec, "/conversations"), info)
		if err != nil {
			e.complain("state", j, err)
			if j.failures < e.spec.NumRetries || e.s.ctx.Err() != nil {
				return err
			}
			e.s.o.Log.Error("a conversation's state could not be posted", "conversation", j.id, "endpoint", e.name)
		}
		e.mu.Lock()
		e.pending -= len(info)
		j.infos = j.infos[1:]
		j.failures = 0
		e.mu.Unlock()
	}
}

// postEvents posts all events behind the cursor, and then the state.
func (e *endpoint) postEvents(id event.ConversationID, state json.RawMessage) error {
	b := batch{limit: e.spec.MaxBatchBytes}
	next := e.s.o.Cursors.Get(e.name, id) + 1
	for {
		err := e.read(&b, id, next)
		if err == nil && state != nil {
			err = e.put(&b, id, state)
		}
		if err == nil {
			return e.send(&b, id)
		}
		if !fault.Is(err, fault.Corrupt) {
			return err
		}
		// An unreadable event can never be delivered, but those after it can.
		at := max(b.last, e.s.o.Cursors.Get(e.name, id)) + 1
		info, infoErr := e.s.o.Stream.Info(e.s.ctx, id)
		if infoErr != nil || at > info.Events {
			return err
		}
		e.s.o.Log.Error("an event cannot be read and is not delivered", "conversation", id, "seq", at, "error", err)
		b.last, next = at, at+1
		if err := e.send(&b, id); err != nil {
			return err
		}
	}
}

func (e *endpoint) read(b *batch, id event.ConversationID, next eventstream.Seq) error {
	for rec, err := range e.s.o.Stream.Read(e.s.ctx, id, next) {
		if err != nil {
			return err
		}
		if err := e.put(b, id, rec.JSON); err != nil {
			return err
		}
		if b.last = rec.Seq; b.n >= e.spec.EventBufferSize {
			if err := e.send(b, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// put adds an event to a batch, and sends the batch first if it is full.
func (e *endpoint) put(b *batch, id event.ConversationID, raw []byte) error {
	raw = view.Event(raw, false)
	whole, err := event.WithNulls(raw)
	if err != nil {
		whole = raw // it is posted unchanged
	}
	if b.n > 0 && b.size()+len(whole)+1 > b.limit {
		if err := e.send(b, id); err != nil {
			return err
		}
	}
	b.add(whole)
	return nil
}

// send posts a batch and moves the cursor.
func (e *endpoint) send(b *batch, id event.ConversationID) error {
	if b.n > 0 {
		if err := e.post(url(e.spec, "/events/"+id.Hex()), b.body()); err != nil {
			return err
		}
	}
	last := b.last
	b.reset()
	if last == 0 {
		return nil
	}
	return e.s.o.Cursors.Set(e.name, id, last)
}

// batch is an unfinished JSON array.
type batch struct {
	limit int
	buf   bytes.Buffer
	n     int
	last  eventstream.Seq
}

func (b *batch) size() int { return b.buf.Len() + 1 }

func (b *batch) add(raw []byte) {
	if b.n == 0 {
		b.buf.WriteByte('[')
	} else {
		b.buf.WriteByte(',')
	}
	b.buf.Write(raw)
	b.n++
}

func (b *batch) body() []byte {
	b.buf.WriteByte(']')
	return b.buf.Bytes()
}

func (b *batch) reset() {
	b.buf.Reset()
	b.n, b.last = 0, 0
}

// maxAnswer is how much of an answer is read, so that the connection can be
// used again.
const maxAnswer = 64 << 10

// post succeeds when the endpoint answers with a status of 200 to 299.
func (e *endpoint) post(to string, body []byte) error {
	req, err := http.NewRequestWithContext(e.s.ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range e.spec.Headers {
		req.Header.Set(k, v.Reveal())
	}
	if key := e.s.o.Key(); key != "" {
		req.Header.Set("X-Session-API-Key", key)
	}
	res, err := e.s.o.Client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*neturl.Error](err); ok {
			err = u.Err // without the URL, which may contain a key
		}
		return fault.Wrap(err, fault.Unavailable, "post to a webhook")
	}
	// Only the status matters.
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fault.New(fault.Unavailable, fmt.Sprintf("the webhook answers %s", res.Status))
	}
	return nil
}
