package executionserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/test/chromium"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/browser"
)

// TestBrowse browses as the agents of the first generation do.
func TestBrowse(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>Shop</title><h1>Tea</h1><label>Name <input id=n></label><select><option>small<option>large</select>
<button onclick="document.title = n.value + ' bought'">Buy</button><iframe srcdoc="<button>within</button>"></iframe>`)
	}))
	t.Cleanup(site.Close)
	dir := t.TempDir()
	s, err := executionserver.New(executionserver.Options{WorkingDir: dir, Tools: map[string]tool.Executor{
		browser.GymActionKind: browser.New(browser.Config{Dir: dir, Env: chromium.Environment(t), Isolated: true}),
	}})
	must.Succeed(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		must.Report(t, s.Close())
	})
	b := &bench{t: t, url: web.URL, dir: dir, client: web.Client()}
	o := b.act(`{"action":"browse","args":{"url":"` + site.URL + `"}}`)
	if o.Observation != "browse" || !strings.Contains(o.Content, "# Tea") || o.Extras["url"] != site.URL+"/" || o.Extras["error"] != false ||
		!strings.HasPrefix(fmt.Sprint(o.Extras["screenshot"]), "data:image/png;base64,") || o.Extras["set_of_marks"] == o.Extras["screenshot"] || o.Extras["last_browser_action"] != `goto("`+site.URL+`")` {
		t.Errorf("browse: %.2000s %v", o.Content, o.Extras["error"])
	}
	o = b.act(`{"action":"browse_interactive","args":{"browser_actions":"noop(0)","return_axtree":true}}`)
	bid := func(line string) string {
		found := regexp.MustCompile(`\[(\d+)\] ` + line).FindStringSubmatch(o.Content)
		if found == nil {
			t.Fatalf("%s is missing: %s", line, o.Content)
		}
		return found[1]
	}
	tree, _ := o.Extras["axtree_object"].(map[string]any)
	if nodes, _ := tree["nodes"].([]any); len(nodes) < 5 || !strings.Contains(o.Content, `heading "Tea"`) || !strings.Contains(o.Content, `button "within"`) {
		t.Errorf("the tree: %s", o.Content)
	}
	calls := fmt.Sprintf(`fill('%s', 'Ann')\nselect_option('%s', ['large'])\nclick('%s')\nsend_msg_to_user(\"done\")`, bid(`textbox "Name"`), bid("combobox"), bid(`button "Buy"`))
	o = b.act(`{"action":"browse_interactive","args":{"browser_actions":"` + calls + `"}}`)
	if !strings.Contains(o.Content, "[Action executed successfully.]") || !strings.Contains(o.Content, `RootWebArea "Ann bought"`) || !strings.Contains(o.Content, `value="large"`) {
		t.Errorf("the calls: %s", o.Content)
	}
	for calls, want := range map[string]string{
		"__import__('os').system('touch made')": "only calls such as click", "click('999999')": "not found", "explode()": "There is no action", "tab_focus(7)": "There is no tab 7", "fill(3)": "needs",
	} {
		o := b.act(`{"action":"browse_interactive","args":{"browser_actions":"` + calls + `"}}`)
		if o.Extras["error"] != true || !strings.Contains(fmt.Sprint(o.Extras["last_browser_action_error"]), want) || !strings.Contains(o.Content, "BEGIN error message") {
			t.Errorf("%s: %.300s %v", calls, o.Content, o.Extras["last_browser_action_error"])
		}
	}
	for _, calls := range []string{"click('999999')", "tab_close()", "click('1')"} { // a model of the first generation has functions, not tools
		o := b.act(`{"action":"browse_interactive","args":{"browser_actions":"` + calls + `"}}`)
		if said := o.Content + fmt.Sprint(o.Extras["last_browser_action_error"]); strings.Contains(said, "browser_") || !strings.Contains(said, "noop()") && !strings.Contains(said, "goto(url)") && calls != "tab_close()" {
			t.Errorf("%s: %s", calls, said)
		}
	}
}
