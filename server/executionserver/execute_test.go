package executionserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	o := b.act(`{"action":"run","args":{"command":"echo hi; cd sub; pwd"}}`)
	if o.Observation != "run" || o.Content != "hi\n"+b.dir+"/sub" || o.Success == nil || !*o.Success ||
		o.Message != "Command `echo hi; cd sub; pwd` executed with exit code 0." || o.metadata("working_dir") != b.dir+"/sub" || o.metadata("exit_code") != 0.0 {
		t.Errorf("%+v", o)
	}
	if o := b.act(`{"action":"run","args":{"command":"pwd; false"}}`); o.Content != b.dir+"/sub" || *o.Success || o.metadata("exit_code") != 1.0 {
		t.Errorf("the shell forgot where it was: %+v", o)
	}
	if o := b.act(`{"action":"run","args":{"command":"pwd","is_static":true,"hidden":true}}`); o.Content != b.dir || o.Extras["hidden"] != true {
		t.Errorf("a command of its own: %+v", o)
	}
	if o := b.act(`{"action":"run","args":{"command":"pwd","is_static":true,"cwd":"sub"}}`); o.Content != b.dir+"/sub" {
		t.Errorf("a command of its own, in a directory: %+v", o)
	}
	if o := b.act(`{"action":"read","args":{"path":"b.txt"}}`); o.Content != "B" {
		t.Errorf("a relative path does not begin where the shell is: %+v", o)
	}
	if o := b.act(`{"action":"run","args":{"command":"seq 20000"}}`); len(o.Content) > 31_000 || !strings.Contains(o.Content, "[... Observation truncated due to length ...]") {
		t.Errorf("%d characters", len(o.Content))
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	o := b.act(`{"action":"run","args":{"command":"sleep 60"},"timeout":0.2}`)
	if suffix, _ := o.metadata("suffix").(string); o.metadata("exit_code") != -1.0 || !strings.Contains(suffix, "after 0.2 seconds") {
		t.Errorf("time limit: %+v", o)
	}
	if o := b.act(`{"action":"run","args":{"command":"C-c","is_input":true}}`); o.metadata("exit_code") != 130.0 {
		t.Errorf("C-c: %+v", o)
	}
}

// TestSilence: a silent command is left alone after a while, unless it blocks.
func TestSilence(t *testing.T) {
	t.Parallel()
	b := openWith(t, "", 300*time.Millisecond)
	if o := b.act(`{"action":"run","args":{"command":"sleep 60"},"timeout":50}`); o.metadata("exit_code") != -1.0 {
		t.Errorf("silence: %+v", o)
	}
	b = openWith(t, "", 300*time.Millisecond)
	if o := b.act(`{"action":"run","args":{"command":"sleep 0.5; echo slept","blocking":true},"timeout":50}`); o.Content != "slept" {
		t.Errorf("blocking: %+v", o)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	for _, c := range []struct{ action, observation, content string }{
		{`{"action":"read","args":{"path":"a.txt"}}`, "read", "one\ntwo\nthree\n"},
		{`{"action":"read","args":{"path":"$W/a.txt","start":1,"end":2}}`, "read", "two\n"},
		{`{"action":"read","args":{"path":"$W/in/b.txt"}}`, "read", "B"},
		{`{"action":"read","args":{"path":"$W/dot.png"}}`, "read", "data:image/png;base64,UE5H"},
		{`{"action":"read","args":{"path":"$W/../more/m.txt"}}`, "read", "M"},
		{`{"action":"read","args":{"path":"none"}}`, "error", "File not found: $W/none. Your current working directory is $W."},
		{`{"action":"read","args":{"path":"sub"}}`, "error", "Path is a directory: $W/sub. You can only read files"},
		{`{"action":"read","args":{"path":"bin"}}`, "error", "ERROR_BINARY_FILE"},
		{`{"action":"read","args":{"path":"latin"}}`, "error", "File could not be decoded as utf-8: $W/latin."},
		{`{"action":"write","args":{"path":"new/n.txt","content":"N"}}`, "write", ""},
		{`{"action":"read","args":{"path":"new/n.txt"}}`, "read", "N\n"},
		{`{"action":"write","args":{"path":"a.txt","content":"zwei","start":1,"end":2}}`, "write", ""},
		{`{"action":"read","args":{"path":"a.txt"}}`, "read", "one\nzwei\nthree\n"},
		{`{"action":"write","args":{"path":"sub","content":"x"}}`, "error", "Path is a directory: $W/sub. You can only write to files"},
		{`{"action":"browse","args":{"url":"http://x"}}`, "error", "Browser functionality is not supported or disabled."},
		{`{"action":"browse_interactive","args":{"browser_actions":"noop()"}}`, "error", "Browser functionality is not supported or disabled."},
	} {
		o := b.act(c.action)
		if want := strings.ReplaceAll(c.content, "$W", b.dir); o.Observation != c.observation || o.Content != want {
			t.Errorf("%s: %s %q, want %s %q", c.action, o.Observation, o.Content, c.observation, want)
		}
	}
	o := b.act(`{"action":"edit","args":{"path":"$W/a.txt","command":"str_replace","old_str":"zwei","new_str":"two","impl_source":"oh_aci"}}`)
	if diff, _ := o.Extras["diff"].(string); o.Observation != "edit" || !strings.Contains(diff, "-zwei\n+two") || o.Extras["old_content"] != "zwei" {
		t.Errorf("edit: %+v", o)
	}
	if o := b.act(`{"action":"edit","args":{"path":"$W/a.txt","command":"str_replace","old_str":"nowhere","new_str":"x","impl_source":"oh_aci"}}`); !strings.HasPrefix(o.Content, "ERROR:\n") {
		t.Errorf("edit of what is not there: %+v", o)
	}
	if o := b.act(`{"action":"read","args":{"path":"$W/a.txt","impl_source":"oh_aci"}}`); !strings.Contains(o.Content, "two") {
		t.Errorf("view: %+v", o)
	}
}

// TestOutside: no action reaches a file outside of the server's directories, also not
// by a link.
func TestOutside(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	for _, path := range []string{"/etc/passwd", "$W/../outside/secret", "../outside/secret", "out/secret", "$W/out/secret", "$W/out/new", "a\\u0000b"} {
		for _, action := range []string{
			`{"action":"read","args":{"path":"` + path + `"}}`,
			`{"action":"read","args":{"path":"` + path + `","impl_source":"oh_aci"}}`,
			`{"action":"write","args":{"path":"` + path + `","content":"x"}}`,
		} {
			if o := b.act(action); o.Observation != "error" && !strings.HasPrefix(o.Content, "ERROR:\n") || strings.Contains(o.Content, "SECRET") {
				t.Errorf("%s: %+v", action, o)
			}
		}
		o := b.act(`{"action":"edit","args":{"path":"` + path + `","command":"create","file_text":"x","impl_source":"oh_aci"}}`)
		if !strings.HasPrefix(o.Content, "ERROR:\n") {
			t.Errorf("edit %s: %+v", path, o)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(b.dir, "../outside/secret")); err != nil || string(raw) != "SECRET" {
		t.Errorf("the file outside is now %q, %v", raw, err)
	}
	if entries, err := os.ReadDir(filepath.Join(b.dir, "../outside")); err != nil || len(entries) != 1 {
		t.Errorf("there are files outside: %v, %v", entries, err)
	}
}

func TestBadActions(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		`{`:                           {http.StatusUnprocessableEntity, "Invalid request parameters"},
		`[]`:                          {http.StatusUnprocessableEntity, "Invalid request parameters"},
		`{"action":{}}`:               {http.StatusInternalServerError, "Unknown event type"},
		`{}`:                          {http.StatusUnprocessableEntity, "Field required: body.action"},
		`{"action":{"action":1}}`:     {http.StatusInternalServerError, "name is not text"},
		`{"action":{"action":"fly"}}`: {http.StatusInternalServerError, "'fly' is not defined"},
		`{"action":{"action":"think","args":{"thought":"x"}}}`:                    {http.StatusInternalServerError, "not run by an action execution server"},
		`{"action":{"action":"run"}}`:                                             {http.StatusInternalServerError, "missing 'command'"},
		`{"action":{"action":"run","args":{"command":1}}}`:                        {http.StatusInternalServerError, "wrong arguments"},
		`{"action":{"action":"read","args":{}}}`:                                  {http.StatusInternalServerError, "missing 'path'"},
		`{"action":{"action":"write","args":{"path":"x"}}}`:                       {http.StatusInternalServerError, "missing 'content'"},
		`{"action":{"action":"run","args":{"command":"x"},"timeout":"soon"}}`:     {http.StatusInternalServerError, "timeout is not a number"},
		`{"action":{"action":"run","args":{"command":"x","blocking":true}}}`:      {http.StatusInternalServerError, "Blocking command with no timeout set"},
		`{"action":{"observation":"run"}}`:                                        {http.StatusInternalServerError, "400: Invalid action type"},
		`{"action":{"action":"edit","args":{"path":"x"}}}`:                        {http.StatusInternalServerError, "impl_source oh_aci"},
		`{"action":{"action":"edit","args":{"path":"x","insert_line":"1 line"}}}`: {http.StatusInternalServerError, "Invalid insert_line value"},
	} {
		status, raw := b.post("/execute_action", body)
		if status != want.status || !strings.Contains(string(raw), want.text) {
			t.Errorf("%s: %d %s, want %d %q", body, status, raw, want.status, want.text)
		}
	}
	if status, _ := b.post("/execute_action", `"`+strings.Repeat("x", 65<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge body: %d", status)
	}
}
