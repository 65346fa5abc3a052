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
			if v.frame == nil && v.shown == v.sent {
				v.b.seen()
			}
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

// casting is a tab that sends frames to people. Chromium takes each picture that the page shows, for 5 to 20
// milliseconds of processor time by its size, also while nobody has seen the last one. So it is stopped while
// nobody has, and after each picture of a page that changes more often than people see it; the pictures of a page
// that moves are small. When the page is still, a full one comes.
type casting struct {
	tab     *tab
	latest  *page.EventScreencastFrame
	seen    bool        // somebody has seen latest
	asked   time.Time   // when latest was asked for, or came unasked
	changes []float64   // when the newest pictures were taken that differ, in seconds, the last one at the end
	hurry   int         // as many pictures to come are of a page that changes too often
	stopped bool        // until somebody has seen latest, and it is time
	due     bool        // it starts again in a moment
	small   bool        // its pictures are
	resized bool        // the next one has another size than latest, and need not be a change
	rest    *time.Timer // ends small pictures; nil for full ones
}

const (
	frameTime    = 100 * time.Millisecond // the least time between two frames
	moveChanges  = 4                      // as many changes
	moveTime     = 800 * time.Millisecond // in this time are a page that moves
	hurryChanges = 3                      // as many changes
	hurryTime    = 3 * frameTime / 2      // in this time are too many
	hurryFrames  = 30                     // stopped for, before the page's changes are counted again
	stillTime    = 300 * time.Millisecond // without a change is a page that is still
	unseenFrames = 4                      // that we have not taken: Chromium loses a change beyond
)

// moves reports whether full pictures of the page would cost too much.
func (c *casting) moves() bool { return c.often(moveChanges, moveTime) }

// often reports whether the newest changes came in a time.
func (c *casting) often(changes int, in time.Duration) bool {
	n := len(c.changes)
	return n >= changes && c.changes[n-1]-c.changes[n-changes] <= in.Seconds()
}

// add keeps a new picture.
func (c *casting) add(f *page.EventScreencastFrame) {
	c.latest, c.seen = f, false
	if c.resized {
		c.resized = false
		return
	}
	if f.Metadata == nil {
		return
	}
	c.changes = append(c.changes, f.Metadata.Timestamp.Float64())
	c.changes = c.changes[max(0, len(c.changes)-moveChanges):]
	if c.often(hurryChanges, hurryTime) {
		c.hurry = hurryFrames
	}
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
		Format: page.StartScreencastFormatJpeg, Quality: new(int64(60)), MaxWidth: width, MaxHeight: height, MaxFramesInFlight: unseenFrames,
	}
	small := c.moves()
	c.resized = small != c.small
	c.small, c.rest, c.asked = small, nil, time.Now()
	if small {
		if c.hurry > 0 {
			p.MaxFramesInFlight = 1
		}
		p.Quality, p.MaxWidth, p.MaxHeight = new(int64(40)), width*2/5, height*2/5
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

// cast gives a frame to all viewers; a slow one misses frames. The caller holds the mutex.
func (b *chromium) cast(t *tab, f *page.EventScreencastFrame) {
	c := &b.casting
	if t != c.tab || c.stopped {
		return // it is late
	}
	if c.latest != nil && bytes.Equal(c.latest.Data, f.Data) { // nothing has changed while it was stopped
		c.hurry = 0
		send(b, t, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: f.SessionID})
		return
	}
	ahead := c.latest != nil && !c.seen
	c.add(f)
	for _, v := range b.viewers {
		v.frame = f
	}
	if ahead || c.hurry > 0 || c.moves() && !c.small {
		c.stopped = true
		c.hurry = max(0, c.hurry-1)
		send(b, t, page.StopScreencast, cdp.Empty{})
		return
	}
	c.asked = time.Now()
	if c.rest != nil {
		c.rest.Reset(stillTime)
	}
	send(b, t, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: f.SessionID})
}

// seen has Chromium go on, when it is time for the next frame. The caller holds the mutex.
func (b *chromium) seen() {
	c := &b.casting
	c.seen = true
	if !c.stopped || c.due {
		return
	}
	c.due = true
	t := c.tab
	time.AfterFunc(frameTime-time.Since(c.asked), func() {
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
