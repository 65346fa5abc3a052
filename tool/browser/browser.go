// Package browser is the set of tools with which a model uses web pages: in a Chromium that runs where the
// conversation's commands do, in its sandbox.
//
// # Usage
//
//	defs := browser.Definitions()
//	exec := browser.New(browser.Config{Dir: "/workspace", Env: env, Isolated: true})
//
// The browser starts with the first call, with a profile that is removed at its end. It is spoken to over two
// pipes, so no other program can reach it. Its network is the sandbox's: the proxy of the environment, and
// this machine.
//
// # Concurrency
//
// An executor runs one call at a time; other calls wait. Each agent has a browser of its own.
//
// # Failure
//
// A missing browser, its death, a page that hangs and wrong indices are observations with IsError set, whose text
// names the next step. Pages are hostile: their windows, dialogs, downloads and texts are bounded, and their
// texts are marked as a stranger's.
package browser

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/devtools"
	"github.com/deft-dev/deft/tool/internal/peragent"
)

// Config configures the executor.
type Config struct {
	// Dir is the workspace: files are taken from there, and downloaded to there.
	Dir string
	// Scratch is a directory for results that do not fit into an event.
	Scratch string
	// Env is the environment of the browser, which is looked for on its PATH.
	Env []string
	// Command changes how programs are started; nil for the ordinary way.
	Command func(path string, args []string) (string, []string)
	// Isolated says that a sandbox is around the browser, which has none of its own then.
	Isolated bool
	// Timeout is how long a page may take to answer a command; default: a minute.
	Timeout time.Duration
}

// MaxBrowsers is how many browsers sub-agents have beside the first one. The one that has not been used for
// longest ends when another is needed.
const MaxBrowsers = 2

// New returns the executor of all actions of the set. Each agent has a browser of its own, by the Agent of the call.
func New(c Config) tool.Executor {
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	all := peragent.New(MaxBrowsers, func() tool.Executor { return &session{c: c, turn: make(chan struct{}, 1)} })
	return browsers{all, all.First.(*session)}
}

// session has the browser of one agent.
type session struct {
	c    Config
	turn chan struct{} // holds one while a call runs

	mu      sync.Mutex // guards the fields below
	closed  bool
	browser *chromium
}

// refusal says to the model why nothing was done, and names the next step.
type refusal string

// Error implements the interface error.
func (r refusal) Error() string { return string(r) }

// hung is that a page does not answer.
type hung struct{ tab *tab }

// Error implements the interface error.
func (h hung) Error() string { return "the page " + h.tab.name() + " does not answer" }

// ask sends a command to a page and waits for the result, for as long as the page may take.
func ask[P, R any](ctx context.Context, b *chromium, t *tab, cmd cdp.Command[P, R], params P) (R, error) {
	limited, cancel := context.WithTimeout(ctx, b.c.Timeout)
	defer cancel()
	r, err := devtools.Call(limited, b.conn, t.session, cmd, params)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = hung{t}
	}
	return r, err
}

// answer is the result of an action.
type answer struct {
	text       string
	page       string // a stranger's text
	screenshot []byte
}

// Execute implements [tool.Executor].
func (s *session) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	gym, ofGym := c.Action.(*GymAction)
	var do func(context.Context, *chromium) (answer, error)
	if !ofGym {
		var err error
		if do, err = doing(c.Action); err != nil {
			return nil, err
		}
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return failed("Nothing was done: the user has interrupted the call before it began."), nil
	}
	b, note, err := s.open(ctx)
	if why, ok := errors.AsType[noBrowser](err); ok {
		return failed(string(why)), nil
	}
	if err != nil {
		return nil, err
	}
	if ofGym {
		return b.gym(ctx, gym, note)
	}
	a, err := do(ctx, b)
	if err == nil {
		err = b.flush(false)
	}
	text, err := b.explain(ctx, a.text, err)
	b.saved(false) // downloads that an earlier call has begun
	notes := append(b.noted(), note)
	if err != nil {
		return nil, err
	}
	obs := &event.BrowserObservation{}
	obs.IsError = text.failed
	obs.Content = event.Texts(strings.TrimRight(strings.Join(append([]string{text.text}, notes...), "\n"), "\n"))
	if a.page != "" && !text.failed {
		obs.Content = append(obs.Content, event.Text(a.page))
	}
	if len(a.screenshot) > 0 && !text.failed {
		data := base64.StdEncoding.EncodeToString(a.screenshot)
		obs.ScreenshotData = &data
	}
	return obs, nil
}

type explained struct {
	text   string
	failed bool
}

// explain makes a sentence of the error of an action. A page that hangs is closed, and with it the browser if it
// does not go.
func (b *chromium) explain(ctx context.Context, text string, err error) (explained, error) {
	why, refused := errors.AsType[refusal](err)
	page, hangs := errors.AsType[hung](err)
	_, protocol := errors.AsType[*devtools.Error](err)
	switch {
	case err == nil:
		return explained{text: text}, nil
	case ctx.Err() != nil:
		return explained{"The user has interrupted the call. The page is as it was then.", true}, nil
	case refused:
		return explained{string(why), true}, nil
	case hangs:
		return explained{b.unhang(ctx, page.tab), true}, nil
	case errors.Is(err, devtools.ErrTooLong):
		return explained{"The page is too large to be read in one piece. Find what you need with curl in the terminal, or on a smaller page.", true}, nil
	case b.ended():
		return explained{fmt.Sprintf("The browser has ended (%s). The next call has a fresh one: tabs, logins and forms are gone.", b.cause()), true}, nil
	case errors.Is(err, devtools.ErrGone):
		return explained{b.lost(), true}, nil
	case protocol:
		return explained{"The browser refuses this: " + quoted(err.Error()), true}, nil
	}
	return explained{}, err
}

// closedPage says that the current page is being closed.
const closedPage = "The page was closed. browser_navigate opens another one."

// lost says why a page is not there any more.
func (b *chromium) lost() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.current != nil && b.current.why != "":
		return closedPage
	case b.current != nil && b.current.crashed:
		return "The page has crashed. browser_navigate opens another one, or the same one again."
	case b.current != nil:
		return "The page was closed. The tab " + b.current.name() + " is shown now; call browser_get_state."
	}
	return "The page was closed, and no tab is left. browser_navigate opens one."
}

// unhang closes a page that does not answer.
func (b *chromium) unhang(ctx context.Context, t *tab) string {
	b.mu.Lock()
	b.end(t, fmt.Sprintf("it did not answer within %.0f seconds", b.c.Timeout.Seconds()))
	b.mu.Unlock()
	closing, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if b.wait(closing, func() bool { return b.tab(t.id) == nil }) == nil {
		return "The page does not answer. " + b.lost()
	}
	if err := b.close(); err != nil {
		return "The browser does not answer and cannot be ended: " + err.Error()
	}
	return "The browser does not answer and was ended. The next call has a fresh one: tabs, logins and forms are gone."
}

// open returns the browser, a fresh one if there is none, with a note if there was another one before.
func (s *session) open(ctx context.Context) (b *chromium, note string, err error) {
	if b = s.present(); b != nil && !b.ended() {
		return b, "", nil
	}
	if b != nil {
		note = fmt.Sprintf("[The browser had ended (%s). This is a fresh one: tabs, logins and forms are gone.]", b.cause())
		if err := b.close(); err != nil {
			return nil, "", err
		}
		s.set(nil)
	}
	if b, err = start(ctx, s.c); err != nil {
		return nil, "", err
	}
	if !s.set(b) {
		return nil, "", errors.Join(errClosed, b.close())
	}
	return b, note, nil
}

var errClosed = fault.New(fault.Conflict, "the browser is closed")

func (s *session) present() *chromium {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.browser
}

// set sets the browser; false if the session is closed.
func (s *session) set(b *chromium) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.browser = b
	}
	return !s.closed
}

// Close implements [tool.Executor]: it ends the browser and removes its profile.
func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	b := s.browser
	s.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.close()
}

func failed(why string) *event.BrowserObservation {
	return &event.BrowserObservation{ObservationBase: event.ObservationBase{Content: event.Texts(why), IsError: true}}
}

// maxQuote is how many characters of a page's text a sentence of ours repeats.
const maxQuote = 200

// quoted is a text of a page within a sentence of ours.
func quoted(s string) string { return fmt.Sprintf("%q", clip(s, maxQuote)) }
