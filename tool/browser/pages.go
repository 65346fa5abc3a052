package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/deft-dev/deft/tool/internal/devtools"
)

// The limits of pages, in the time between two answers.
const (
	maxTabs    = 20
	maxWindows = 5  // that pages open
	maxRefused = 20 // windows that are closed at once, before their page is
	maxDialogs = 20
	maxNotes   = 10
)

// A page that asks for more than maxLoads other pages, or for itself, within loadsTime is closed: nothing can be
// done with it, and its own navigations end the model's.
const (
	maxLoads  = 20
	loadsTime = 10 * time.Second
)

// pages are the pages of a browser, as its events tell.
type pages struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	tabs    []*tab
	current *tab
	// follow lets a window that the current page opens become the current one.
	follow  bool
	opened  int // windows of pages
	refused int
	files   downloads

	recording *recording // nil for none
	script    string     // that records a page

	viewers []*viewer
	casting casting
	taken   bool // a person has used the browser since the last answer

	notes []string // for the next answer
	left  int      // notes that were left out
}

// tab is a page with a window of its own.
type tab struct {
	id      target.ID
	opener  target.ID
	session target.SessionID

	// These are guarded by pages.mu.
	url      string
	title    string
	status   int64 // of the document's answer, over HTTP
	loading  bool
	blank    bool // it is opened for its storage only
	next     bool // it has asked for another page, or a window, that is not there yet
	crashed  bool
	why      string // it was closed, if we have closed it
	dialogs  int
	loads    []time.Time // the latest pages that it asked for
	requests map[network.RequestID]*request
	elements map[int]bool // the indices of the state that was shown last
}

// request is a request of a page that is under way.
type request struct {
	old bool // it was waited for in vain
}

// name is the name of a tab for the model, as the reference makes it.
func (t *tab) name() string { return string(t.id[max(0, len(t.id)-4):]) }

func (p *pages) init() { p.changed = make(chan struct{}) }

// change wakes all that wait. The caller holds the mutex.
func (p *pages) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// note keeps a sentence for the next answer, where there are few. The caller holds the mutex.
func (p *pages) note(format string, args ...any) {
	if len(p.notes) >= maxNotes {
		p.left++
		return
	}
	p.tell(format, args...)
}

// tell keeps a sentence for the next answer. The caller holds the mutex.
func (p *pages) tell(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf("["+format+"]", args...))
}

// noted returns the sentences since the last call, and begins a new count of dialogs and windows.
func (p *pages) noted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	notes := p.notes
	if p.left > 0 {
		notes = append(notes, fmt.Sprintf("[%d more such events are left out here.]", p.left))
	}
	p.notes, p.left, p.opened, p.refused, p.taken = nil, 0, 0, 0, false
	for _, t := range p.tabs {
		t.dialogs = 0
	}
	return notes
}

// wait waits until cond, which is called with the mutex held. ErrGone if the browser ends.
func (b *chromium) wait(ctx context.Context, cond func() bool) error {
	for {
		b.mu.Lock()
		ok, changed := cond(), b.changed
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-b.conn.Done():
			return devtools.ErrGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// event takes an event of the browser.
func (b *chromium) event(e devtools.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Session == "" {
		b.browserEvent(e)
	} else if i := slices.IndexFunc(b.tabs, func(t *tab) bool { return t.session == e.Session }); i >= 0 {
		b.tabs[i].event(b, e)
	}
	b.change()
}

func (b *chromium) browserEvent(e devtools.Event) {
	switch e.Method {
	case target.AttachedToTarget.Method:
		if v, err := devtools.Decode(e, target.AttachedToTarget); err == nil {
			b.attached(v)
		}
	case target.TargetInfoChanged.Method:
		v, err := devtools.Decode(e, target.TargetInfoChanged)
		if err != nil {
			return
		}
		if t := b.tab(v.TargetInfo.TargetID); t != nil {
			t.url, t.title = v.TargetInfo.URL, v.TargetInfo.Title
		}
	case target.DetachedFromTarget.Method:
		if v, err := devtools.Decode(e, target.DetachedFromTarget); err == nil {
			b.detached(v.SessionID)
		}
	default:
		b.files.event(b, e)
	}
}

// attached takes a page, which waits for our commands. A flood of them is refused.
func (b *chromium) attached(v target.EventAttachedToTarget) {
	t := &tab{id: v.TargetInfo.TargetID, opener: v.TargetInfo.OpenerID, session: v.SessionID, url: v.TargetInfo.URL, requests: map[network.RequestID]*request{}}
	opener, ofPage := b.tab(t.opener), t.opener != "" // it may be closed by now
	if opener != nil {
		opener.next = false
	}
	if ofPage {
		b.opened++
	}
	if len(b.tabs) >= maxTabs || ofPage && b.opened > maxWindows { // those that we open are wanted
		b.refuse(t, opener)
		return
	}
	b.tabs = append(b.tabs, t)
	yes, none := true, int64(0)
	send(b, t, page.Enable, page.EnableParams{})
	send(b, t, dom.Enable, dom.EnableParams{})
	send(b, t, inspector.Enable, cdp.Empty{})
	send(b, t, network.Enable, network.EnableParams{MaxTotalBufferSize: &none, MaxResourceBufferSize: &none})
	send(b, t, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: yes})
	if b.recording != nil {
		send(b, t, page.AddScriptToEvaluateOnNewDocument, b.record(t))
	}
	send(b, t, runtime.RunIfWaitingForDebugger, cdp.Empty{})
	switch {
	case b.current == nil:
		b.current = t
	case opener != nil && opener == b.current && b.follow:
		b.current = t
		b.note("The page opened the tab %s, which is shown now.", t.name())
	case opener != nil:
		b.note("The page opened the tab %s in the background.", t.name())
	}
}

// refuse closes a window beyond the limit, and in the end the page that does not stop to open some.
func (b *chromium) refuse(t, opener *tab) {
	send(b, t, runtime.RunIfWaitingForDebugger, cdp.Empty{}) // or its opener waits for ever
	b.drop(t)
	if b.refused++; b.refused == 1 {
		b.tell("Further windows of pages are closed at once: at most %d are opened by one call, and there are at most %d tabs.", maxWindows, maxTabs)
	}
	if b.refused == maxRefused && opener != nil {
		b.end(opener, fmt.Sprintf("it opened more than %d windows", maxWindows+maxRefused))
	}
}

// end closes a page that misbehaves. The caller holds the mutex.
func (b *chromium) end(t *tab, why string) {
	if t.why != "" {
		return
	}
	t.why = why
	b.tell("The tab %s was closed, because %s.", t.name(), why)
	send(b, t, page.Crash, cdp.Empty{}) // a page that is busy is not asked
	b.drop(t)
}

// drop closes a tab without waiting for it. The caller holds the mutex.
func (b *chromium) drop(t *tab) {
	if err := devtools.Send(b.conn, "", target.CloseTarget, target.CloseTargetParams{TargetID: t.id}); err != nil {
		b.tell("The tab %s cannot be closed: %v", t.name(), err)
	}
}

// detached forgets a page that has ended. The one that opened it is shown, or the latest one.
func (b *chromium) detached(session target.SessionID) {
	i := slices.IndexFunc(b.tabs, func(t *tab) bool { return t.session == session })
	if i < 0 {
		return
	}
	t := b.tabs[i]
	b.tabs = slices.Delete(b.tabs, i, i+1)
	if b.current != t {
		return
	}
	b.current = b.tab(t.opener)
	if b.current == nil && len(b.tabs) > 0 {
		b.current = b.tabs[len(b.tabs)-1]
	}
}

// tab returns the tab with an id, or nil. The caller holds the mutex.
func (p *pages) tab(id target.ID) *tab {
	for _, t := range p.tabs {
		if t.id == id {
			return t
		}
	}
	return nil
}

// event takes an event of a page. The caller holds the mutex.
func (t *tab) event(b *chromium, e devtools.Event) {
	switch e.Method {
	case page.FrameRequestedNavigation.Method:
		if v, err := devtools.Decode(e, page.FrameRequestedNavigation); err == nil && t.main(v.FrameID) {
			t.next = v.Disposition == page.ClientNavigationDispositionCurrentTab
			t.asked(b, time.Now())
		}
	case page.WindowOpen.Method:
		t.next = true
	case page.FrameStartedLoading.Method:
		if v, err := devtools.Decode(e, page.FrameStartedLoading); err == nil && t.main(v.FrameID) {
			t.loading, t.next = true, false
		}
	case page.FrameStoppedLoading.Method:
		if v, err := devtools.Decode(e, page.FrameStoppedLoading); err == nil && t.main(v.FrameID) {
			t.loading = false
		}
	case page.FrameNavigated.Method:
		if v, err := devtools.Decode(e, page.FrameNavigated); err == nil && t.main(v.Frame.ID) {
			t.url, t.elements, t.crashed, t.next = v.Frame.URL+v.Frame.URLFragment, nil, false, false
		}
	case page.NavigatedWithinDocument.Method:
		if v, err := devtools.Decode(e, page.NavigatedWithinDocument); err == nil && t.main(v.FrameID) {
			t.url, t.next = v.URL, false
		}
	case page.JavascriptDialogOpening.Method:
		if v, err := devtools.Decode(e, page.JavascriptDialogOpening); err == nil {
			t.dialog(b, v)
		}
	case fetch.RequestPaused.Method:
		t.blankPage(b, e)
	case page.FileChooserOpened.Method:
		b.note("The page asks for a file. browser_type with the index of the file input and a path of the workspace gives it one.")
	case inspector.TargetCrashed.Method:
		t.crashed, t.loading = true, false
		clear(t.requests)
	case page.ScreencastFrame.Method:
		if v, err := devtools.Decode(e, page.ScreencastFrame); err == nil {
			b.cast(t, &v)
		}
	case runtime.BindingCalled.Method:
		if v, err := devtools.Decode(e, runtime.BindingCalled); err == nil && v.Name == binding {
			b.recorded(v.Payload)
		}
	default:
		t.request(e)
	}
}

// asked counts the pages that a page asks for, also itself. The caller holds the mutex.
func (t *tab) asked(b *chromium, now time.Time) {
	t.loads = append(t.loads, now)
	if len(t.loads) <= maxLoads {
		return
	}
	t.loads = t.loads[len(t.loads)-maxLoads-1:]
	if now.Sub(t.loads[0]) <= loadsTime {
		b.end(t, fmt.Sprintf("it loaded itself or other pages more than %d times within %.0f seconds (curl reads its source)", maxLoads, loadsTime.Seconds()))
	}
}

// main reports whether a frame is the page itself: its frame has the name of the target.
func (t *tab) main(frame cdp.FrameID) bool { return string(frame) == string(t.id) }

// dialog answers a dialog as a user in a hurry does. Only a question for text is dismissed.
func (t *tab) dialog(b *chromium, v page.EventJavascriptDialogOpening) {
	if t.dialogs++; t.dialogs > maxDialogs {
		b.end(t, fmt.Sprintf("it opened more than %d dialogs", maxDialogs))
		return
	}
	accept := v.Type != page.DialogTypePrompt
	if v.Type != page.DialogTypeBeforeunload {
		deed := "accepted"
		if !accept {
			deed = "dismissed"
		}
		b.note("The page showed a dialog (%s), which was %s: %s", v.Type, deed, quoted(v.Message))
	}
	send(b, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept})
}

// maxRequests bounds the requests of a page that are known.
const maxRequests = 500

// request takes an event of the network.
func (t *tab) request(e devtools.Event) {
	switch e.Method {
	case network.RequestWillBeSent.Method:
		v, err := devtools.Decode(e, network.RequestWillBeSent)
		if err != nil || len(t.requests) >= maxRequests {
			return
		}
		switch v.Type {
		case network.ResourceTypeDocument, network.ResourceTypeStylesheet, network.ResourceTypeScript, network.ResourceTypeXHR, network.ResourceTypeFetch:
			t.requests[v.RequestID] = &request{}
		}
	case network.ResponseReceived.Method:
		if v, err := devtools.Decode(e, network.ResponseReceived); err == nil && v.Type == network.ResourceTypeDocument && t.main(v.FrameID) {
			t.status = v.Response.Status
		}
	case network.LoadingFinished.Method:
		if v, err := devtools.Decode(e, network.LoadingFinished); err == nil {
			delete(t.requests, v.RequestID)
		}
	case network.LoadingFailed.Method:
		if v, err := devtools.Decode(e, network.LoadingFailed); err == nil {
			delete(t.requests, v.RequestID)
		}
	}
}

// busy reports whether requests are under way that are worth waiting for. The caller holds the mutex.
func (t *tab) busy() bool {
	for _, r := range t.requests {
		if !r.old {
			return true
		}
	}
	return false
}

// gone reports whether the tab cannot be used any more. The caller holds the mutex.
func (b *chromium) gone(t *tab) bool { return t.crashed || t.why != "" || !slices.Contains(b.tabs, t) }

// How long a page is waited for after an action.
const (
	loadTime  = 30 * time.Second
	quietTime = 2 * time.Second // requests after the page was loaded
)

// settle waits until a page has loaded and is quiet. A page that does not become quiet is no error, one that does
// not answer is.
func (b *chromium) settle(ctx context.Context, t *tab) error {
	alive := func() error { // a command is answered after the events of the action before it
		_, err := ask(ctx, b, t, runtime.Evaluate, runtime.EvaluateParams{Expression: "0"})
		return err
	}
	err := alive()
	if _, hangs := errors.AsType[hung](err); hangs {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	if b.wait(starting, func() bool { return !t.next || b.gone(t) }) != nil {
		b.mu.Lock()
		t.next = false
		b.mu.Unlock()
	}
	limit := min(loadTime, b.c.Timeout)
	loading, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	waited := false
	if b.wait(loading, func() bool {
		waited = waited || t.loading
		return !t.loading || b.gone(t)
	}) != nil {
		b.mu.Lock()
		b.note("The page is still loading after %.0f seconds.", limit.Seconds())
		b.mu.Unlock()
		if _, hangs := errors.AsType[hung](alive()); hangs { // the page before it has answered
			return hung{t}
		}
		return nil
	}
	if err == nil {
		b.quiet(ctx, t, waited)
	}
	return nil
}

// quiet waits for the requests of a page, and until it has run the code that waited for them, or for the page.
// One that crashes has ended its requests, and stopped to load, before the crash is told.
func (b *chromium) quiet(ctx context.Context, t *tab, waited bool) {
	quiet, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	err := b.wait(quiet, func() bool {
		busy := (t.busy() || t.loading) && !b.gone(t)
		waited = waited || busy
		return !busy
	})
	if err != nil {
		b.mu.Lock()
		for _, r := range t.requests {
			r.old = true
		}
		b.mu.Unlock()
		return
	}
	if waited {
		b.until(quiet, t, "setTimeout(done)")
	}
}

// frames waits until the page has been drawn twice.
func (b *chromium) frames(ctx context.Context, t *tab) {
	waiting, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	b.until(waiting, t, "requestAnimationFrame(() => requestAnimationFrame(done))")
}

// until waits until the page calls done. It may go away, or never do it.
func (b *chromium) until(ctx context.Context, t *tab, code string) {
	yes := true
	_, _ = devtools.Call(ctx, b.conn, t.session, runtime.Evaluate, // see above
		runtime.EvaluateParams{Expression: "new Promise(done => " + code + ")", AwaitPromise: &yes})
}

// send sends a command to a page without waiting for it.
func send[P, R any](b *chromium, t *tab, cmd cdp.Command[P, R], params P) {
	if err := devtools.Send(b.conn, t.session, cmd, params); err != nil {
		b.note("%v", err)
	}
}
