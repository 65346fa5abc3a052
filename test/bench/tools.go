package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/browser"
	"github.com/deft-dev/deft/tool/ipython"
)

// page has 100 links, and a square that moves as often a second as its address says.
const page = `<!doctype html><title>Bench</title><body><div id=d style="position:fixed;width:200px;height:200px;background:#08f"></div><script>
for (let i = 0; i < 100; i++) document.write('<a href="javascript:void 0">link ' + i + '</a><p>text</p>')
let n = 0; if (location.search) setInterval(() => { d.style.left = 5 * (n++ % 200) + 'px' }, 1000 / location.search.slice(1))</script>`

// browsing measures actions of the browser tools on a page of this machine, and the processor time that the live
// view adds to this process and the browser.
func (b *bench) browsing(ctx context.Context, _ int) (rows []row, err error) {
	const click, view, budget = "a click in the browser, the page's own time with it", "live view of a page that changes %s times a second, processor time added", "p50 <= 60 ms"
	if _, err := exec.LookPath("chromium-headless-shell"); err != nil {
		return []row{{click, budget, "not installed", ""}}, nil
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	site := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page) // the browser has gone
	})}
	go func() { _ = site.Serve(ln) }() // ends with Close
	defer site.Close()
	x := browser.New(browser.Config{Dir: b.dir, Env: []string{"PATH=/usr/bin:/bin"}, Isolated: true})
	defer func() { err = errors.Join(err, x.Close()) }()
	url := "http://" + ln.Addr().String() + "/"
	if _, err := act(ctx, x, &event.BrowserNavigateAction{URL: url}); err != nil {
		return nil, err
	}
	state, err := act(ctx, x, &event.BrowserGetStateAction{})
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(state, `"index": `)
	number, _, _ := strings.Cut(after, ",")
	index, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("no element in %.500s: %w", state, err)
	}
	clicks, err := repeat(ctx, x, &event.BrowserClickAction{Index: index}, 100)
	if err != nil {
		return nil, err
	}
	states, err := repeat(ctx, x, &event.BrowserGetStateAction{}, 100)
	if err != nil {
		return nil, err
	}
	rows = append(rows, row{click, budget, p50p90(clicks), ""}, row{"the state of a page with 100 links", budget, p50p90(states), ""})
	for _, often := range []string{"10", "60"} {
		if _, err := act(ctx, x, &event.BrowserNavigateAction{URL: url + "?" + often}); err != nil {
			return nil, err
		}
		share, frames, err := watched(ctx, x.(tool.Viewer))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf(view, often), "<= 10 % of a core", fmt.Sprintf("%.1f %%, %.1f frames/s", 100*share, frames), ""})
	}
	return rows, nil
}

// act carries out an action and returns its text.
func act(ctx context.Context, x tool.Executor, a event.Action) (string, error) {
	obs, err := x.Execute(ctx, tool.Call{Action: a})
	if err != nil {
		return "", err
	}
	text := event.JoinText(obs.Result().Content)
	if obs.Result().IsError {
		return "", fmt.Errorf("%s: %s", a.Kind(), text)
	}
	return text, nil
}

// repeat measures an action.
func repeat(ctx context.Context, x tool.Executor, a event.Action, times int) (took []time.Duration, err error) {
	for range times {
		began := time.Now()
		if _, err := act(ctx, x, a); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// watchTime is how long the live view is measured with and without a viewer.
const watchTime = 10 * time.Second

var frameNumber = regexp.MustCompile(`^\{"type":"frame","n":(\d+),`)

// watched measures the processor time per second that a viewer adds to this process and the browser, and its frames.
func watched(ctx context.Context, x tool.Viewer) (share, frames float64, err error) {
	alone, err := used(watchTime, func() error { time.Sleep(watchTime); return nil })
	if err != nil {
		return 0, 0, err
	}
	conn, err := x.View(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	n := 0
	with, err := used(watchTime, func() error {
		end := time.Now().Add(watchTime)
		lines := bufio.NewScanner(conn)
		lines.Buffer(nil, tool.MaxViewLine)
		for time.Now().Before(end) && lines.Scan() {
			number := frameNumber.FindSubmatch(lines.Bytes())
			if number == nil {
				continue // the tabs
			}
			n++
			if _, err := fmt.Fprintf(conn, `{"type":"shown","n":%s}`+"\n", number[1]); err != nil {
				return err
			}
		}
		if err := lines.Err(); err != nil {
			return err
		}
		return nil
	})
	return with - alone, float64(n) / watchTime.Seconds(), err
}

// used returns the processor time per second that this process and its descendants use while something is done.
func used(over time.Duration, do func() error) (float64, error) {
	before, err := processorTime(os.Getpid())
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	after, err := processorTime(os.Getpid())
	return (after - before).Seconds() / took.Seconds(), err
}

// processorTime is the time of a process and its descendants.
func processorTime(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	sum := time.Duration(ticks) * 10 * time.Millisecond
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, err
	}
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for child := range strings.FieldsSeq(string(raw)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				return 0, err
			}
			of, err := processorTime(n)
			if err == nil { // it runs
				sum += of
			}
		}
	}
	return sum, nil
}

// cells measures the round trip of a cell of the notebook.
func (b *bench) cells(ctx context.Context, _ int) (rows []row, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(cache, "deft-deps", "jupyter", "bin")
	const what, budget = "a cell of the notebook, there and back", "p50 <= 5 ms"
	if _, err := os.Stat(bin); err != nil {
		return []row{{what, budget, "not installed", ""}}, nil
	}
	x := ipython.New(ipython.Config{Dir: b.dir, Env: []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + b.dir}})
	defer func() { err = errors.Join(err, x.Close()) }()
	if _, err := act(ctx, x, &ipython.Action{Code: "x = 1"}); err != nil {
		return nil, err
	}
	took, err := repeat(ctx, x, &ipython.Action{Code: "x"}, 300)
	return []row{{what, budget, p50p90(took), ""}}, err
}
