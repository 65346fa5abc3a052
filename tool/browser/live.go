package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/peragent"
)

// maxViewers bounds the people who look at one browser.
const maxViewers = 8

// browsers are the browsers of all agents of a place; people see the first one.
type browsers struct {
	*peragent.Executors
	first *session
}

var _ tool.Viewer = browsers{}

// View implements [tool.Viewer]. The browser sends
//
//	{"type": "tabs", "tabs": [{"id", "title", "url", "active"}]}
//	{"type": "frame", "n": 1, "jpeg": "…base64…", "width": 1280, "height": 800}
//
// and takes
//
//	{"type": "shown", "n": 1}       the next frame may come
//	{"type": "mouse", "event": "down|up|move|wheel", "x", "y", "button", "clicks", "dx", "dy", "modifiers"}
//	{"type": "key", "event": "down|up", "key", "code", "key_code", "text", "modifiers"}
//	{"type": "text", "text": "…"}   is written at once
//	{"type": "tab", "id": "…"}      shows another tab
//
// Places and sizes are pixels of the page, modifiers the bits of Chromium's DevTools protocol.
func (x browsers) View(context.Context) (io.ReadWriteCloser, error) {
	b := x.first.present()
	if b == nil || b.ended() {
		return nil, fault.New(fault.NotFound, "no browser is open")
	}
	inside, outside := net.Pipe()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.viewers) >= maxViewers {
		return nil, errors.Join(fault.New(fault.RateLimit, "too many people look at this browser"), inside.Close(), outside.Close())
	}
	v := &viewer{b: b, conn: inside, frame: b.casting.latest}
	b.viewers = append(b.viewers, v)
	go v.serve()
	return outside, nil
}

// viewer is one person who looks at a browser.
type viewer struct {
	b    *chromium
	conn net.Conn

	// These are guarded by pages.mu.
	frame *page.EventScreencastFrame // the newest one; nil if it was sent
	sent  int64                      // frames
	shown int64                      // frames that the person sees
	left  bool
}

// liveMessage is a message in either direction.
type liveMessage struct {
	Type string `json:"type"`
	// Of a frame.
	N      int64  `json:"n,omitempty"`
	JPEG   []byte `json:"jpeg,omitempty"`
	Width  int64  `json:"width,omitempty"`
	Height int64  `json:"height,omitempty"`
	// Of tabs, and the choice of one.
	Tabs []liveTab `json:"tabs,omitempty"`
	ID   string    `json:"id,omitempty"`
	// Of the mouse and the keyboard.
	Event     string  `json:"event,omitempty"`
	X         float64 `json:"x,omitempty"`
	Y         float64 `json:"y,omitempty"`
	DX        float64 `json:"dx,omitempty"`
	DY        float64 `json:"dy,omitempty"`
	Button    string  `json:"button,omitempty"`
	Clicks    int64   `json:"clicks,omitempty"`
	Modifiers int64   `json:"modifiers,omitempty"`
	Key       string  `json:"key,omitempty"`
	Code      string  `json:"code,omitempty"`
	KeyCode   int64   `json:"key_code,omitempty"`
	Text      string  `json:"text,omitempty"`
}

type liveTab struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// serve shows and takes until the person leaves or the browser ends.
func (v *viewer) serve() {
	var work sync.WaitGroup
	work.Go(func() {
		v.take()
		v.leave()
	})
	v.show()
	v.leave()
	work.Wait()
}

// leave ends the view.
func (v *viewer) leave() {
	_ = v.conn.Close() // of a pipe
	v.b.mu.Lock()
	defer v.b.mu.Unlock()
	v.left = true
	v.b.viewers = slices.DeleteFunc(v.b.viewers, func(other *viewer) bool { return other == v })
	v.b.recast()
	v.b.change()
}

// show sends the tabs and the frames.
func (v *viewer) show() {
	out := json.NewEncoder(v.conn)
	var tabs []liveTab
	for first := true; ; first = false {
		var messages []liveMessage
		err := v.b.wait(context.Background(), func() bool {
			v.b.recast()
			if now := v.b.liveTabs(); first || !slices.Equal(now, tabs) {
				tabs = now
				messages = append(messages, liveMessage{Type: "tabs", Tabs: now})
			}
			if v.frame != nil && v.shown == v.sent {
				messages = append(messages, v.next())
			}
			return v.left || len(messages) > 0
		})
		if err != nil || len(messages) == 0 {
			return
		}
		for _, m := range messages {
			if out.Encode(m) != nil {
				return // the person has left
			}
		}
	}
}

// next is the message of the newest frame. The caller holds the mutex.
func (v *viewer) next() liveMessage {
	f := v.frame
	v.frame = nil
	v.sent++
	m := liveMessage{Type: "frame", N: v.sent, JPEG: f.Data}
	if f.Metadata != nil {
		m.Width, m.Height = int64(f.Metadata.DeviceWidth), int64(f.Metadata.DeviceHeight)
	}
	return m
}

// maxLiveInput bounds a message of a person in bytes.
const maxLiveInput = 1 << 20

// take takes what the person does. A message that cannot be read ends the view.
func (v *viewer) take() {
	lines := bufio.NewScanner(v.conn)
	lines.Buffer(nil, maxLiveInput)
	for lines.Scan() {
		var m liveMessage
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return
		}
		v.b.mu.Lock()
		if m.Type == "shown" {
			v.shown = min(m.N, v.sent)
			v.b.seen()
			v.b.change()
		} else if t := v.b.current; t != nil {
			v.b.used(t, m)
		}
		v.b.mu.Unlock()
	}
}

// liveTabs are the tabs for people. The caller holds the mutex.
func (b *chromium) liveTabs() []liveTab {
	all := []liveTab{}
	for _, t := range b.open() {
		all = append(all, liveTab{ID: t.name(), Title: clip(t.title, maxQuote), URL: clip(t.url, maxAddress), Active: t == b.current})
	}
	return all
}

// casting is a tab that sends frames to people. Chromium takes each picture that the page shows, for 10 to 25
// milliseconds of processor time by its size, also while nobody has seen the last one: so it is stopped after
// each frame, and the pictures of a page that moves are small. When the page is still, a full one comes.
type casting struct {
	tab     *tab
	latest  *page.EventScreencastFrame
	changes []time.Time // the newest pictures of the page, the last one at the end
	stopped bool        // until somebody has seen latest, and it is time
	due     bool        // it starts again in a moment
	rest    *time.Timer // ends small pictures; nil for full ones
	idle    bool        // the page is as in latest
}

const (
	frameTime   = 100 * time.Millisecond // the least time between two frames
	moveChanges = 4                      // as many changes
	moveTime    = 800 * time.Millisecond // in this time are a page that moves
	stillTime   = 300 * time.Millisecond // without a change is a page that is still
	idleFrames  = 4                      // unseen by us, of a page that was still: Chromium loses a change beyond
	smaller     = 2                      // the part of its width and height that is shown while it moves
)

// moves reports whether full pictures of the page would cost too much.
func (c *casting) moves() bool {
	return len(c.changes) == moveChanges && c.changes[moveChanges-1].Sub(c.changes[0]) <= moveTime
}

// recast has the current tab send frames while somebody looks. The caller holds the mutex.
func (b *chromium) recast() {
	want := b.current
	if len(b.viewers) == 0 {
		want = nil
	}
	if b.casting.tab == want {
		return
	}
	if old := b.casting; old.tab != nil && !old.stopped && !b.gone(old.tab) {
		send(b, old.tab, page.StopScreencast, cdp.Empty{})
	}
	b.casting = casting{tab: want}
	if want != nil {
		b.film(want)
	}
}

// film has a tab send its picture now, and the changes of it. The caller holds the mutex.
func (b *chromium) film(t *tab) {
	c := &b.casting
	p := page.StartScreencastParams{
		Format: page.StartScreencastFormatJpeg, Quality: new(int64(60)), MaxWidth: width, MaxHeight: height, MaxFramesInFlight: 1,
	}
	if c.idle {
		p.MaxFramesInFlight = idleFrames
	}
	c.rest = nil
	if c.moves() {
		p.MaxWidth, p.MaxHeight = width/smaller, height/smaller
		c.rest = b.sharpen(t)
	}
	send(b, t, page.StartScreencast, p)
}

// sharpen has a tab send a full picture when it has sent no small one for a while. The caller holds the mutex.
func (b *chromium) sharpen(t *tab) (rest *time.Timer) {
	rest = time.AfterFunc(stillTime, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if c := &b.casting; c.rest == rest && !c.stopped && !b.gone(t) {
			send(b, t, page.StopScreencast, cdp.Empty{})
			c.changes = nil
			b.film(t)
		}
	})
	return rest
}

// cast gives a frame to all viewers; a slow one misses frames. The next one comes when somebody has seen
// it. The caller holds the mutex.
func (b *chromium) cast(t *tab, f *page.EventScreencastFrame) {
	c := &b.casting
	switch {
	case t != c.tab || c.stopped: // it is late
	case c.latest != nil && bytes.Equal(c.latest.Data, f.Data): // the next one is a change
		if !c.idle {
			c.idle = true
			send(b, t, page.StopScreencast, cdp.Empty{})
			b.film(t)
			return
		}
		send(b, t, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: f.SessionID})
	default:
		c.latest, c.stopped, c.idle = f, true, false
		c.changes = append(c.changes, time.Now())
		c.changes = c.changes[max(0, len(c.changes)-moveChanges):]
		send(b, t, page.StopScreencast, cdp.Empty{})
		for _, v := range b.viewers {
			v.frame = f
		}
	}
}

// seen has Chromium send the next frame, when it is time for one. The caller holds the mutex.
func (b *chromium) seen() {
	c := &b.casting
	if !c.stopped || c.due {
		return
	}
	c.due = true
	t := c.tab
	time.AfterFunc(frameTime-time.Since(c.changes[len(c.changes)-1]), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.casting.tab == t && !b.gone(t) {
			b.casting.stopped, b.casting.due = false, false
			b.film(t)
		}
	})
}

// used carries out what a person does on a page; the model learns of it with its next action. The
// caller holds the mutex.
func (b *chromium) used(t *tab, m liveMessage) {
	switch m.Type {
	case "mouse":
		b.mouse(t, m)
		if m.Event == "move" {
			return // nothing worth telling
		}
	case "key":
		p := input.DispatchKeyEventParams{
			Type: input.DispatchKeyEventTypeRawKeyDown, Key: m.Key, Code: m.Code, WindowsVirtualKeyCode: m.KeyCode, Modifiers: m.Modifiers, Text: m.Text, UnmodifiedText: m.Text,
		}
		switch {
		case m.Event == "up":
			p.Type = input.DispatchKeyEventTypeKeyUp
		case m.Text != "":
			p.Type = input.DispatchKeyEventTypeKeyDown
		case m.Modifiers&^8 == 2 && m.Code == "KeyA":
			p.Commands = []string{"selectAll"} // the window system would have it done
		}
		send(b, t, input.DispatchKeyEvent, p)
	case "text":
		send(b, t, input.InsertText, input.InsertTextParams{Text: m.Text})
	case "tab":
		for _, other := range b.tabs {
			if other.name() == m.ID {
				b.current = other
			}
		}
		b.change()
	default:
		return
	}
	if !b.taken {
		b.taken = true
		b.note("The user has used the browser since your last action: look at the page again.")
	}
}

// mouse moves the mouse, or presses a button.
func (b *chromium) mouse(t *tab, m liveMessage) {
	p := input.DispatchMouseEventParams{X: within(m.X, width), Y: within(m.Y, height), Modifiers: m.Modifiers, ClickCount: min(m.Clicks, 3), Button: input.MouseButton(m.Button)}
	switch m.Event {
	case "down":
		p.Type, p.Buttons = input.DispatchMouseEventTypeMousePressed, buttons[p.Button]
	case "up":
		p.Type = input.DispatchMouseEventTypeMouseReleased
	case "move":
		p.Type, p.Buttons = input.DispatchMouseEventTypeMouseMoved, buttons[p.Button]
	case "wheel":
		send(b, t, wheel, wheelParams{input.DispatchMouseEventTypeMouseWheel, p.X, p.Y, m.DX, m.DY})
		return
	default:
		return
	}
	send(b, t, input.DispatchMouseEvent, p)
}
