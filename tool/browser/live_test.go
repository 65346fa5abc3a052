package browser_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	"io"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

// watched is the live view of a browser.
type watched struct {
	t     testing.TB
	conn  io.ReadWriteCloser
	lines *bufio.Scanner
}

type liveMessage struct {
	Type          string
	N             int64
	JPEG          []byte
	Width, Height int
	Tabs          []struct {
		ID, Title, URL string
		Active         bool
	}
}

func watch(t testing.TB, x tool.Executor) *watched {
	t.Helper()
	conn, err := x.(tool.Viewer).View(t.Context())
	must.Succeed(t, err)
	w := &watched{t: t, conn: conn, lines: bufio.NewScanner(conn)}
	w.lines.Buffer(nil, tool.MaxViewLine)
	return w
}

// until reads until a message is as wanted. Each frame is shown.
func (w *watched) until(want func(liveMessage) bool) liveMessage {
	w.t.Helper()
	for w.lines.Scan() {
		var m liveMessage
		must.Succeed(w.t, json.Unmarshal(w.lines.Bytes(), &m))
		if m.Type == "frame" {
			w.say(map[string]any{"type": "shown", "n": m.N})
		}
		if want(m) {
			return m
		}
	}
	w.t.Fatalf("the view has ended: %v", w.lines.Err())
	return liveMessage{}
}

func (w *watched) say(m any) {
	w.t.Helper()
	raw, err := json.Marshal(m)
	must.Succeed(w.t, err)
	_, err = w.conn.Write(append(raw, '\n'))
	must.Succeed(w.t, err)
}

// size is the size of the picture of a frame.
func (m liveMessage) size(t testing.TB) image.Point {
	t.Helper()
	if m.Type != "frame" {
		return image.Point{}
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(m.JPEG))
	must.Succeed(t, err)
	return image.Pt(c.Width, c.Height)
}

// colour reports whether the middle of a frame has a colour, roughly.
func (m liveMessage) colour(t testing.TB, r, g, b int) bool {
	t.Helper()
	if m.Type != "frame" {
		return false
	}
	picture, err := jpeg.Decode(bytes.NewReader(m.JPEG))
	must.Succeed(t, err)
	size := picture.Bounds()
	pr, pg, pb, _ := picture.At(size.Dx()/2, size.Dy()/2).RGBA()
	near := func(got uint32, want int) bool { d := int(got>>8) - want; return d > -40 && d < 40 }
	return near(pr, r) && near(pg, g) && near(pb, b)
}

// TestLive looks at a browser while its agent works, and uses it: the agent is told.
func TestLive(t *testing.T) {
	t.Parallel()
	u := open(t, map[string]string{
		"/": `<title>Red</title><body style="background:#f00"><input autofocus style="position:fixed;left:0;top:0;width:200px;height:40px">
			<button style="position:fixed;left:300px;top:0;width:100px;height:40px" onclick="document.body.style.background='#00f'">Blue</button>`,
		"/green": `<title>Green</title><body style="background:#0f0">`,
	})
	if _, err := u.Executor.(tool.Viewer).View(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("without a browser: %v", err)
	}
	u.do(&event.BrowserNavigateAction{URL: u.url + "/"}, true)
	w := watch(t, u.Executor)
	w.until(func(m liveMessage) bool {
		return m.Type == "tabs" && len(m.Tabs) == 1 && m.Tabs[0].Active && m.Tabs[0].URL == u.url+"/"
	})
	f := w.until(func(m liveMessage) bool { return m.colour(t, 255, 0, 0) })
	if f.Width != 1280 || f.Height != 800 {
		t.Errorf("a frame of %d×%d", f.Width, f.Height)
	}
	for _, event := range []string{"down", "up"} {
		w.say(map[string]any{"type": "mouse", "event": event, "x": 350, "y": 20, "button": "left", "clicks": 1})
	}
	w.until(func(m liveMessage) bool { return m.colour(t, 0, 0, 255) })
	for _, event := range []string{"down", "up"} {
		w.say(map[string]any{"type": "mouse", "event": event, "x": 100, "y": 20, "button": "left", "clicks": 1})
	}
	for _, event := range []string{"down", "up"} {
		key := map[string]any{"type": "key", "event": event, "key": "h", "code": "KeyH", "key_code": 72}
		if event == "down" {
			key["text"] = "h"
		}
		w.say(key)
	}
	w.say(map[string]any{"type": "text", "text": "ello"})
	got := u.do(&event.BrowserGetStateAction{}, true)
	for !strings.Contains(got, `"value": "hello"`) && !strings.Contains(got, `"value":"hello"`) { // input and the agent take turns
		got = u.do(&event.BrowserGetStateAction{}, true) + got
	}
	if n := strings.Count(got, "The user has used the browser"); n == 0 {
		t.Errorf("the agent is not told: %s", got)
	}
	u.do(&event.BrowserNavigateAction{URL: u.url + "/green", NewTab: true}, true)
	tabs := w.until(func(m liveMessage) bool { return m.Type == "tabs" && len(m.Tabs) == 2 && m.Tabs[1].Active })
	w.until(func(m liveMessage) bool { return m.colour(t, 0, 255, 0) })
	w.say(map[string]any{"type": "tab", "id": tabs.Tabs[0].ID})
	w.until(func(m liveMessage) bool { return m.colour(t, 0, 0, 255) })

	// A person who shows nothing gets one frame, and delays nobody.
	slow := watch(t, u.Executor)
	defer slow.conn.Close()
	u.do(&event.BrowserNavigateAction{URL: u.url + "/green"}, true)
	w.until(func(m liveMessage) bool { return m.colour(t, 0, 255, 0) })
	must.Succeed(t, w.conn.Close())
	must.Succeed(t, u.Close())
	for slow.lines.Scan() {
		if strings.Contains(slow.lines.Text(), `"n":2`) {
			t.Error("a second frame before the first is shown")
		}
	}
}

// TestLiveMoving looks at a page that moves: its pictures are small, and clicks hit all the same. When it is still,
// a full picture comes.
func TestLiveMoving(t *testing.T) {
	t.Parallel()
	u := open(t, map[string]string{
		"/": `<body><div id=d style="position:fixed;top:100px;width:50px;height:50px;background:#00f"></div>
			<button style="position:fixed;left:1200px;top:700px;width:60px;height:60px" onclick="clearInterval(moving); document.body.style.background='#f00'">Stop</button>
			<script>let n = 0; const moving = setInterval(() => { d.style.left = n++ % 1000 + 'px' }, 16)</script>`,
	})
	u.do(&event.BrowserNavigateAction{URL: u.url + "/"}, true)
	w := watch(t, u.Executor)
	defer w.conn.Close()
	if got := w.until(func(m liveMessage) bool { return m.Type == "frame" }).size(t); got != image.Pt(1280, 800) {
		t.Errorf("the first picture has %v", got)
	}
	small := w.until(func(m liveMessage) bool { return m.size(t) == image.Pt(512, 320) })
	if small.Width != 1280 || small.Height != 800 {
		t.Errorf("a small picture is of a page of %d×%d", small.Width, small.Height)
	}
	for _, event := range []string{"down", "up"} {
		w.say(map[string]any{"type": "mouse", "event": event, "x": 1230, "y": 730, "button": "left", "clicks": 1})
	}
	w.until(func(m liveMessage) bool { return m.colour(t, 255, 0, 0) && m.size(t) == image.Pt(1280, 800) })
}
