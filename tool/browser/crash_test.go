package browser_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/browser"
)

// TestCrash has the process of a page end in the middle of calls: they end with it, and the next page is shown.
func TestCrash(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	u := open(t, nil, func(c *browser.Config) {
		c.Timeout = time.Hour // no page is waited for in vain
		c.Command = func(path string, args []string) (string, []string) {
			return "/bin/sh", append([]string{"sh", "-c", `echo $$ > "$0"; exec "$@"`, file, path}, args[1:]...)
		}
	})
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			must.Report(t, func() error { _, err := w.Write([]byte("<!doctype html>" + body)); return err }())
		})
	}
	mux.HandleFunc("GET /kill", func(_ http.ResponseWriter, r *http.Request) {
		killPages(t, file)
		<-r.Context().Done()
	})
	var once sync.Once
	mux.HandleFunc("GET /killed", func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { killPages(t, file) })
		w.Header().Set("Content-Type", "text/html")
		must.Report(t, func() error { _, err := w.Write([]byte("<h1>after all</h1>")); return err }())
	})
	page("/{$}", `<h1>home</h1>`)
	page("/loading", `<script src=/kill></script>`)
	page("/click", `<button onclick="const x = new XMLHttpRequest(); x.open('GET', '/kill', false); x.send()">now</button>`)
	page("/later", `<button onclick="fetch('/kill')">later</button>`)
	page("/type", `<input placeholder=here oninput="const x = new XMLHttpRequest(); x.open('GET', '/kill', false); x.send()">`)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	u.url = server.URL

	u.has(u.do(&event.BrowserNavigateAction{URL: u.url + "/loading"}, false), "The page has crashed")
	u.has(u.do(&event.BrowserGetStateAction{}, false), "The page has crashed")
	u.visit("/click")
	u.has(u.do(&event.BrowserClickAction{Index: u.index("now")}, false), "The page has crashed")
	u.visit("/later")
	u.observe(t.Context(), &event.BrowserClickAction{Index: u.index("later")}) // it may be known before the crash
	u.visit("/type")
	u.has(u.do(&event.BrowserTypeAction{Index: u.index("here"), Text: "x"}, false), "The page has crashed")
	u.visit("/")
	u.visit("/killed") // the page before it, while the server thinks
	u.has(u.content(), "# after all")
}

// killPages kills the processes of pages of the browser whose process id is in a file.
func killPages(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	must.Report(t, err)
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must.Report(t, err)
	killed := 0
	for _, path := range all {
		cmdline, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(cmdline), "--type=renderer") {
			continue // also a process that has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		must.Report(t, err)
		if group, err := syscall.Getpgid(pid); err != nil || strconv.Itoa(group) != strings.TrimSpace(string(raw)) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		} else if !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
	if killed == 0 {
		t.Error("no page has a process")
	}
}
