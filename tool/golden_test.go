package tool_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/applypatch"
	"github.com/deft-dev/deft/tool/askoracle"
	"github.com/deft-dev/deft/tool/browser"
	"github.com/deft-dev/deft/tool/edit"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/listdirectory"
	"github.com/deft-dev/deft/tool/planeditor"
	"github.com/deft-dev/deft/tool/readfile"
	"github.com/deft-dev/deft/tool/routetask"
	"github.com/deft-dev/deft/tool/startchild"
	"github.com/deft-dev/deft/tool/task"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/think"
	"github.com/deft-dev/deft/tool/workflow"
	"github.com/deft-dev/deft/tool/writefile"
)

var update = flag.Bool("update", false, "rewrite the golden files of tool descriptions")

const risk = `"security_risk":{"type":"string","enum":["UNKNOWN","LOW","MEDIUM","HIGH"]},`

// schemas are the parameters as docs/openhands/tools.md sections 2 and 3 show
// them, without white space and descriptions. The order counts.
var schemas = []struct {
	def  *tool.Definition
	want string
}{
	{editor.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},` +
		`"command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"]},` +
		`"path":{"type":"string"},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
		`"insert_line":{"type":"integer"},"view_range":{"type":"array","items":{"type":"integer"}}},"required":["command","path"]}`},
	{applypatch.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},"patch":{"type":"string"}},"required":["patch"]}`},
	{readfile.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"file_path":{"type":"string"},` +
		`"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["file_path"]}`},
	{writefile.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},"file_path":{"type":"string"},` +
		`"content":{"type":"string"}},"required":["file_path","content"]}`},
	{edit.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},"file_path":{"type":"string"},` +
		`"old_string":{"type":"string"},"new_string":{"type":"string"},"expected_replacements":{"type":"integer"}},` +
		`"required":["file_path","old_string","new_string"]}`},
	{listdirectory.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"dir_path":{"type":"string"},"recursive":{"type":"boolean"}}}`},
	{planeditor.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},` +
		`"command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"]},` +
		`"path":{"type":"string"},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
		`"insert_line":{"type":"integer"},"view_range":{"type":"array","items":{"type":"integer"}}},"required":["command","path"]}`},
	{tasktracker.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},` +
		`"command":{"type":"string","enum":["view","plan"]},` +
		`"task_list":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"notes":{"type":"string"},` +
		`"status":{"type":"string","enum":["todo","in_progress","done"]}},"required":["title"]}}}}`},
	{finish.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"message":{"type":"string"}},"required":["message"]}`},
	{task.Definition([]task.Agent{{Name: "general-purpose", Description: "Takes any\ntask.", Tools: []string{"terminal"}}, {Name: "helper"}}, "general-purpose"), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},` +
		`"description":{"type":"string"},"prompt":{"type":"string"},"subagent_type":{"type":"string"},"resume":{"type":"string"}},"required":["prompt"]}`},
	{workflow.Definition("- general-purpose: Takes any task."), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},` +
		`"name":{"type":"string"},"script":{"type":"string"},"max_concurrency":{"type":"integer"}},"required":["name","script"]}`},
	{askoracle.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"question":{"type":"string"},"context":{"type":"string"}},"required":["question"]}`},
	{routetask.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"}}}`},
	{startchild.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},"task":{"type":"string"},"title":{"type":"string"},` +
		`"isolation":{"type":"string","enum":["worktree","shared"]}},"required":["task"]}`},
	{think.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"thought":{"type":"string"}},"required":["thought"]}`},
	{glob.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"pattern":{"type":"string"},"path":{"type":"string"}},"required":["pattern"]}`},
	{grep.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"pattern":{"type":"string"},"path":{"type":"string"},"include":{"type":"string"}},"required":["pattern"]}`},
}

// browserSchemas are the ones of the tools of browser_tool_set.
var browserSchemas = map[string]string{
	"browser_navigate":        risk + `"summary":{"type":"string"},"url":{"type":"string"},"new_tab":{"type":"boolean"}},"required":["url"]`,
	"browser_click":           risk + `"summary":{"type":"string"},"index":{"type":"integer"},"new_tab":{"type":"boolean"}},"required":["index"]`,
	"browser_get_state":       `"summary":{"type":"string"},"include_screenshot":{"type":"boolean"}}`,
	"browser_get_content":     `"summary":{"type":"string"},"extract_links":{"type":"boolean"},"start_from_char":{"type":"integer"}}`,
	"browser_type":            risk + `"summary":{"type":"string"},"index":{"type":"integer"},"text":{"type":"string"}},"required":["index","text"]`,
	"browser_scroll":          risk + `"summary":{"type":"string"},"direction":{"type":"string","enum":["up","down"]}}`,
	"browser_go_back":         risk + `"summary":{"type":"string"}}`,
	"browser_list_tabs":       `"summary":{"type":"string"}}`,
	"browser_switch_tab":      risk + `"summary":{"type":"string"},"tab_id":{"type":"string"}},"required":["tab_id"]`,
	"browser_close_tab":       risk + `"summary":{"type":"string"},"tab_id":{"type":"string"}},"required":["tab_id"]`,
	"browser_get_storage":     `"summary":{"type":"string"}}`,
	"browser_set_storage":     risk + `"summary":{"type":"string"},"storage_state":{"type":"object"}},"required":["storage_state"]`,
	"browser_start_recording": risk + `"summary":{"type":"string"}}`,
	"browser_stop_recording":  risk + `"summary":{"type":"string"}}`,
}

func TestBrowserSchemasAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	all := browser.Definitions()
	if len(all) != len(browserSchemas) {
		t.Errorf("there are %d tools", len(all))
	}
	for _, d := range all {
		got, err := tool.FunctionSchema(d)
		must.Succeed(t, err)
		if diff := cmp.Diff(`{"type":"object","properties":{`+browserSchemas[d.Name]+"}", string(withoutDescriptions(t, got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.Name, diff)
		}
		if d.Description == "" || d.Guidance == "" {
			t.Errorf("%s has no description or no guidance", d.Name)
		}
	}
}

func TestSchemasAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	for _, tc := range schemas {
		got, err := tool.FunctionSchema(tc.def)
		must.Succeed(t, err)
		if diff := cmp.Diff(tc.want, string(withoutDescriptions(t, got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.def.Name, diff)
		}
	}
}

// withoutDescriptions drops the members called description that hold a
// string, and keeps the order of the others.
func withoutDescriptions(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	var walk func() []byte
	walk = func() []byte {
		tok, err := dec.Token()
		must.Succeed(t, err)
		open, nested := tok.(json.Delim)
		if !nested {
			b, err := json.Marshal(tok)
			must.Succeed(t, err)
			return b
		}
		out, n := []byte(open.String()), 0
		for dec.More() {
			var key []byte
			if open == '{' {
				key = walk()
			}
			value := walk()
			if string(key) == `"description"` && value[0] == '"' {
				continue
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			if key != nil {
				out = append(append(out, key...), ':')
			}
			out = append(out, value...)
		}
		end, err := dec.Token()
		must.Succeed(t, err)
		return append(out, end.(json.Delim).String()...)
	}
	return walk()
}

// TestDescriptions keeps the description of each tool in a SystemPromptEvent in
// golden files, so that a change of it is seen in review: go test ./tool -update.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	for _, tc := range schemas {
		raw, err := json.MarshalIndent(tool.Describe(tc.def), "", "  ")
		must.Succeed(t, err)
		path := filepath.Join("testdata", tc.def.Name+".json")
		if *update {
			must.Succeed(t, os.WriteFile(path, append(raw, '\n'), 0o644))
		}
		want, err := os.ReadFile(path)
		must.Succeed(t, err)
		if diff := cmp.Diff(string(want), string(raw)+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.def.Name, diff)
		}
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	ed := editor.Definition()
	insert := &event.FileEditorAction{Command: "insert", Path: "/a/../b"}
	if diff := cmp.Diff([]string{"file:/b"}, ed.Locks(insert)); diff != "" {
		t.Errorf("insert (-want +got):\n%s", diff)
	}
	if got := ed.Locks(&event.FileEditorAction{Command: "view", Path: "/b"}); got != nil {
		t.Errorf("view locks %v", got)
	}
	patch := &event.ApplyPatchAction{Patch: "*** Begin Patch\n*** Delete File: /a/../b\n*** Update File: c\n*** Move to: d\n*** End Patch"}
	if diff := cmp.Diff([]string{"file:/b", "file:c", "file:d"}, applypatch.Definition().Locks(patch)); diff != "" {
		t.Errorf("a patch (-want +got):\n%s", diff)
	}
	if finish.Definition().Locks != nil {
		t.Error("finish must wait for everything before it")
	}
}
