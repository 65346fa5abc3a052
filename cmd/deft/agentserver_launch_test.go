package main

import (
	"strings"
	"testing"
)

// TestClientToolNames refuses a client's tool that is named like one of ours.
func TestClientToolNames(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]bool{"terminal": true, "grep": true, "file_editor": true, "show_panel": false} {
		err := checkClientTool([]byte(`{"name":"` + name + `","description":"d"}`))
		if got := err != nil && strings.Contains(err.Error(), "'"+name+"' collides"); got != ours || err != nil && !ours {
			t.Errorf("%s: %v", name, err)
		}
	}
}
