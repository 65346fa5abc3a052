package devtools_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/internal/devtools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial connects to a browser that answers each command by a function.
func dial(t *testing.T, answer func(command string) string) (*devtools.Conn, <-chan devtools.Event) {
	t.Helper()
	commands, toBrowser := io.Pipe()
	fromBrowser, answers := io.Pipe()
	events := make(chan devtools.Event, 10)
	c := devtools.New(fromBrowser, toBrowser, func(e devtools.Event) { events <- e })
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer answers.Close()
		r := bufio.NewReader(commands)
		for {
			command, err := r.ReadString(0)
			if err != nil {
				return
			}
			text := answer(command)
			if text == "" {
				return
			}
			if _, err := io.WriteString(answers, text); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		must.Report(t, c.Close())
		<-done
	})
	return c, events
}

func history(ctx context.Context, c *devtools.Conn) (page.GetNavigationHistoryResult, error) {
	return devtools.Call(ctx, c, "S", page.GetNavigationHistory, cdp.Empty{})
}

func TestCall(t *testing.T) {
	t.Parallel()
	n := 0
	c, events := dial(t, func(command string) string {
		n++
		if !strings.Contains(command, `"method":"Page.getNavigationHistory"`) || !strings.Contains(command, `"sessionId":"S"`) {
			t.Errorf("the command: %q", command)
		}
		switch n {
		case 1: // garbage and an event before the answer
			return "garbage\x00" + `{"method":"Page.frameStartedLoading","sessionId":"S","params":{"frameId":"F"}}` + "\x00" + `{"id":1,"result":{"currentIndex":7,"entries":[]}}` + "\x00"
		case 2:
			return `{"id":2,"error":{"code":-32000,"message":"not attached"}}` + "\x00"
		case 3: // the page ends
			return `{"method":"Target.detachedFromTarget","params":{"sessionId":"S"}}` + "\x00"
		case 4:
			return string(bytes.Repeat([]byte("x"), devtools.MaxMessage+1)) + "\x00"
		}
		return "" // the browser ends
	})
	got, err := history(t.Context(), c)
	if err != nil || got.CurrentIndex != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if e := <-events; e.Session != "S" || e.Method != page.FrameStartedLoading.Method {
		t.Errorf("%+v", e)
	} else if v, err := devtools.Decode(e, page.FrameStartedLoading); err != nil || v.FrameID != "F" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err = history(t.Context(), c); err == nil || !strings.Contains(err.Error(), "not attached") {
		t.Error(err)
	}
	for _, want := range []error{devtools.ErrGone, devtools.ErrTooLong, devtools.ErrGone, devtools.ErrGone} {
		if _, err = history(t.Context(), c); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	<-c.Done()
}

// TestInterrupted gives up a call that is not answered.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c, _ := dial(t, func(string) string {
		cancel()
		return "\x00"
	})
	if _, err := history(ctx, c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCrashed calls a page that has crashed, and one that is not there any more.
func TestCrashed(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"method":"Inspector.targetCrashed","sessionId":"S","params":{}}`, // while the first call waits
		`{"id":2,"result":{"product":"Chrome"}}` + "\x00" + `{"method":"Inspector.targetReloadedAfterCrash","sessionId":"S","params":{}}`,
		`{"id":3,"result":{"currentIndex":7,"entries":[]}}`,
		`{"id":4,"error":{"code":-32001,"message":"Session with given id not found."}}`,
	}
	c, events := dial(t, func(string) string {
		text := answers[0] + "\x00"
		answers = answers[1:]
		return text
	})
	for range 2 { // the second one is not sent
		if _, err := history(t.Context(), c); !errors.Is(err, devtools.ErrGone) {
			t.Error(err)
		}
	}
	_, err := devtools.Call(t.Context(), c, "", browser.GetVersion, cdp.Empty{})
	must.Succeed(t, err)
	for e := range events {
		if e.Method == inspector.TargetReloadedAfterCrash.Method {
			break
		}
	}
	if got, err := history(t.Context(), c); err != nil || got.CurrentIndex != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := history(t.Context(), c); !errors.Is(err, devtools.ErrGone) {
		t.Error(err)
	}
}
