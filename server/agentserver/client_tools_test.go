package agentserver

import (
	"encoding/json"
	"strings"
	"testing"

	_ "github.com/deft-dev/deft/tool/builtin" // the tools of the server
)

// namingAdapters knows the names of clients' tools only.
type namingAdapters struct{ Adapters }

func (namingAdapters) CheckClientTool(raw json.RawMessage) (string, error) {
	var s struct{ Name string }
	err := json.Unmarshal(raw, &s)
	return s.Name, err
}

// TestClientToolNames refuses a client's tool that is named like one of ours.
func TestClientToolNames(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]bool{"terminal": true, "grep": true, "file_editor": true, "show_panel": false} {
		err := clientToolCheck(namingAdapters{})([]byte(`{"name":"` + name + `","description":"d"}`))
		if got := err != nil && strings.Contains(err.Error(), "'"+name+"' collides"); got != ours || err != nil && !ours {
			t.Errorf("%s: %v", name, err)
		}
	}
}
