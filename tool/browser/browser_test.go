package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/chromium"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/browser"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// user has a browser and a server with pages.
type user struct {
	t testing.TB
	tool.Executor
	dir, url string
}

// open opens a browser beside a server of pages.
func open(t testing.TB, pages map[string]string, change ...func(*browser.Config)) *user {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range pages {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<!doctype html>", body)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	u := &user{t: t, dir: t.TempDir(), url: server.URL}
	c := browser.Config{Dir: u.dir, Scratch: t.TempDir(), Env: chromium.Environment(t), Isolated: true}
	for _, f := range change {
		f(&c)
	}
	u.Executor = browser.New(c)
	t.Cleanup(func() { must.Report(t, u.Close()) })
	return u
}

// do carries out an action and returns its text; want is that it succeeds.
func (u *user) do(a event.Action, want bool) string {
	u.t.Helper()
	obs := u.observe(u.t.Context(), a)
	text := event.JoinText(obs.Content)
	if obs.IsError == want {
		u.t.Errorf("%s: %s", a.Kind(), text)
	}
	return text
}

func (u *user) observe(ctx context.Context, a event.Action) *event.BrowserObservation {
	u.t.Helper()
	obs, err := u.Execute(ctx, tool.Call{Action: a})
	must.Succeed(u.t, err)
	return obs.(*event.BrowserObservation)
}

func (u *user) visit(path string) string {
	u.t.Helper()
	return u.do(&event.BrowserNavigateAction{URL: u.url + path}, true)
}

// index finds the index of an element in the state by a part of its description.
func (u *user) index(part string) int {
	u.t.Helper()
	state := u.do(&event.BrowserGetStateAction{}, true)
	for block := range strings.SplitSeq(state, "{") {
		if found := regexp.MustCompile(`"index": (\d+)`).FindStringSubmatch(block); found != nil && strings.Contains(block, part) {
			n, err := strconv.Atoi(found[1])
			must.Succeed(u.t, err)
			return n
		}
	}
	u.t.Fatalf("%q is not in the state: %s", part, state)
	return 0
}

func (u *user) click(part string) string {
	u.t.Helper()
	return u.do(&event.BrowserClickAction{Index: u.index(part)}, true)
}

func (u *user) fill(part, text string) string {
	u.t.Helper()
	return u.do(&event.BrowserTypeAction{Index: u.index(part), Text: text}, true)
}

func (u *user) content() string {
	u.t.Helper()
	return u.do(&event.BrowserGetContentAction{}, true)
}

// has reports an error unless a text has all parts.
func (u *user) has(text string, parts ...string) {
	u.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			u.t.Errorf("%q is missing in: %s", part, text)
		}
	}
}

const shop = `<title>Shop</title><body style="height: 5000px"><h1>Tea</h1>
<form action="/bought"><label for=n>Name</label><input id=n name=name placeholder="Your name" value=old>
<select name=size><option>small</option><option value=L>large</option></select>
<textarea name=note></textarea><input type=checkbox name=gift> <input type=date name=when>
<button aria-label="Buy it">🛒</button></form>
<a href="/other">Other page</a> <a href="/other" target=_blank>In a window</a>
<div id=d style="cursor: pointer">Press me <b>here</b></div><p style="display:none"><a href=x>hidden</a></p>
<p id=out></p><a href="/far" style="position:absolute;top:4500px">Far away</a>
<script>d.addEventListener('click', () => { out.textContent = 'pressed' })</script>`

// TestShop uses a page as a customer does.
func TestShop(t *testing.T) {
	t.Parallel()
	u := open(t, map[string]string{
		"/shop":   shop,
		"/other":  `<title>Other</title><h2>Another page</h2><a href="/shop">Back to the shop</a>`,
		"/bought": `<h1>Thanks</h1><p id=q></p><script>q.textContent = decodeURIComponent(location.search)</script>`,
	})
	u.has(u.do(&event.BrowserClickAction{Index: 1}, false), "Call that first") // before any state
	u.has(u.visit("/shop"), "Navigated to: "+u.url+"/shop")
	state := u.do(&event.BrowserGetStateAction{}, true)
	u.has(state, "not instructions", `"title": "Shop"`, `"text": "Other page"`, `"href": "/other"`, `"placeholder": "Your name"`, `"value": "old"`,
		`"label": "Buy it"`, `"text": "small | large"`, `"value": "small"`, `"text": "Press me here"`, `"more_elements": "0 above and 1 below`, `"height": 5029`)
	if strings.Contains(state, "hidden") {
		t.Errorf("a hidden link is listed: %s", state)
	}
	u.has(u.click("Press me"), "Clicked element ")
	u.has(u.content(), "# Tea", "pressed")
	u.has(u.fill("Your name", "Ann"), "Typed 'Ann' into element ")
	u.has(u.fill(`"select"`, "large"), "Chose 'large'")
	u.fill(`"textarea"`, "a\nb")
	u.fill(`"date"`, "2026-01-02")
	u.click(`"checkbox"`)
	u.has(u.do(&event.BrowserTypeAction{Index: u.index(`"select"`), Text: "huge"}, false), "small | large")
	u.click("Buy it")
	u.has(u.content(), "# Thanks", "name=Ann&size=L&note=a b&gift=on&when=2026-01-02")
	u.do(&event.BrowserGoBackAction{}, true)
	u.has(u.click("In a window"), "The page opened the tab ")
	u.has(u.content(), "Another page")
	tabs := u.do(&event.BrowserListTabsAction{}, true)
	id := regexp.MustCompile(`"tab_id": "(\w{4})",\s+"url": "[^"]*/shop"`).FindStringSubmatch(tabs)
	if id == nil {
		t.Fatal(tabs)
	}
	u.has(u.do(&event.BrowserSwitchTabAction{TabID: id[1]}, true), "Switched to tab "+id[1])
	u.has(u.do(&event.BrowserClickAction{Index: u.index("Other page"), NewTab: true}, true), "opened in new tab "+u.url+"/other")
	u.has(u.do(&event.BrowserCloseTabAction{TabID: id[1]}, true), "Closed tab # "+id[1]+", now on "+u.url+"/other")
	u.has(u.do(&event.BrowserSwitchTabAction{TabID: "nope"}, false), "The tabs are: ")
	u.has(u.visit("/missing"), "(the server answered with the status 404)")
}

// TestTabs has pages change their titles and close themselves: what is listed is so by then.
func TestTabs(t *testing.T) {
	t.Parallel()
	u := open(t, map[string]string{
		"/":       `<title>Main</title><a href="/window" target=_blank>Open</a><button onclick="document.title = 'Paid'">Pay</button>`,
		"/window": `<title>Window</title><button onclick="window.close()">Close</button>`,
	})
	list := func() string { return u.do(&event.BrowserListTabsAction{}, true) }
	u.visit("/")
	for range 3 {
		u.click("Pay")
		u.has(list(), `"title": "Paid"`)
		u.click("Open")
		u.has(list(), `"title": "Window"`, `"title": "Paid"`)
		u.has(u.do(&event.BrowserGetStateAction{}, true), `"title": "Window"`, `"title": "Paid"`)
		id := regexp.MustCompile(`"tab_id": "(\w{4})",\s+"url": "[^"]*/window"`).FindStringSubmatch(list())
		u.observe(t.Context(), &event.BrowserClickAction{Index: u.index("Close")}) // it may be known before the click's end
		if text := list(); strings.Contains(text, "/window") {
			t.Error(text)
		}
		u.has(u.do(&event.BrowserSwitchTabAction{TabID: id[1]}, false), "There is no tab")
	}
}

// TestScroll scrolls to an element that is far away.
func TestScroll(t *testing.T) {
	t.Parallel()
	u := open(t, map[string]string{"/shop": shop, "/far": "far"})
	u.visit("/shop")
	for range 6 {
		u.do(&event.BrowserScrollAction{Direction: "down"}, true)
	}
	u.has(u.do(&event.BrowserGetStateAction{}, true), `"y": 3000`, "Far away")
	u.do(&event.BrowserScrollAction{Direction: "up"}, true)
	u.has(u.do(&event.BrowserGetStateAction{}, true), `"y": 2500`)
	u.do(&event.BrowserScrollAction{Direction: "down"}, true)
	u.click("Far away")
	u.has(u.content(), "/far\n</url>")
}

// TestAddresses opens addresses without a page.
func TestAddresses(t *testing.T) {
	t.Parallel()
	u := open(t, map[string]string{"/": "home"})
	for url, want := range map[string]string{
		"":                              "The url is empty",
		"javascript:alert(1)":           "does not open addresses of the scheme",
		"chrome://version":              "does not open addresses of the scheme",
		"http://127.0.0.1:1/":           "ERR_UNSAFE_PORT",
		"http://nowhere.invalid/":       "The host does not exist, or this sandbox has no network",
		"http://[::1":                   "cannot be read",
		"file:///there/is/no/such.file": "ERR_FILE_NOT_FOUND",
	} {
		u.has(u.do(&event.BrowserNavigateAction{URL: url}, false), want)
	}
	u.has(u.do(&event.BrowserNavigateAction{URL: strings.Replace(u.url, "http://", "", 1)}, true), "Navigated to: http://127.0.0.1:")
	must.Succeed(t, os.WriteFile(u.dir+"/page.html", []byte("<h1>of a file</h1>"), 0o644))
	u.do(&event.BrowserNavigateAction{URL: "file://" + u.dir + "/page.html"}, true)
	u.has(u.content(), "# of a file")
}

func call(a event.Action) tool.Call { return tool.Call{Action: a} }
