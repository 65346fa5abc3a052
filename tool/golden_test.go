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
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/task"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/think"
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
	{tasktracker.Definition(), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},` +
		`"command":{"type":"string","enum":["view","plan"]},` +
		`"task_list":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"notes":{"type":"string"},` +
		`"status":{"type":"string","enum":["todo","in_progress","done"]}},"required":["title"]}}}}`},
	{finish.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"message":{"type":"string"}},"required":["message"]}`},
	{task.Definition([]task.Agent{{Name: "general-purpose", Description: "Takes any\ntask.", Tools: []string{"terminal"}}, {Name: "helper"}}, "general-purpose"), `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},` +
		`"description":{"type":"string"},"prompt":{"type":"string"},"subagent_type":{"type":"string"},"resume":{"type":"string"}},"required":["prompt"]}`},
	{think.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"thought":{"type":"string"}},"required":["thought"]}`},
	{glob.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"pattern":{"type":"string"},"path":{"type":"string"}},"required":["pattern"]}`},
	{grep.Definition(), `{"type":"object","properties":{"summary":{"type":"string"},"pattern":{"type":"string"},"path":{"type":"string"},"include":{"type":"string"}},"required":["pattern"]}`},
}

func TestSchemasAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	for _, tc := range schemas {
		got, err := tool.FunctionSchema(tc.def)
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		open, nested := tok.(json.Delim)
		if !nested {
			b, err := json.Marshal(tok)
			if err != nil {
				t.Fatal(err)
			}
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
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", tc.def.Name+".json")
		if *update {
			if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(raw)+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.def.Name, diff)
		}
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	ed := editor.Definition()
	edit := &event.FileEditorAction{Command: "insert", Path: "/a/../b"}
	if diff := cmp.Diff([]string{"file:/b"}, ed.Locks(edit)); diff != "" {
		t.Errorf("insert (-want +got):\n%s", diff)
	}
	if got := ed.Locks(&event.FileEditorAction{Command: "view", Path: "/b"}); got != nil {
		t.Errorf("view locks %v", got)
	}
	if finish.Definition().Locks != nil {
		t.Error("finish must wait for everything before it")
	}
}
