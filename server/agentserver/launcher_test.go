package agentserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation"
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
		err := launcher{adapters: namingAdapters{}}.CheckClientTool([]byte(`{"name":"` + name + `","description":"d"}`))
		if got := err != nil && strings.Contains(err.Error(), "'"+name+"' collides"); got != ours || err != nil && !ours {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecretsEncrypted opens the sealed secrets of a start request only where it says
// that they are sealed.
func TestSecretsEncrypted(t *testing.T) {
	t.Parallel()
	ring := keyring.New("a key of the tests")
	sealed, err := ring.Seal([]byte("the-api-key"))
	if err != nil {
		t.Fatal(err)
	}
	for encrypted, want := range map[bool]string{true: "the-api-key", false: sealed} {
		doc, err := schema.Parse([]byte(`{"kind":"Agent","llm":{"model":"openai/mock","usage_id":"agent","api_key":"` + sealed + `"},"tools":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		r := conversation.NewStartRequest()
		r.Agent, r.SecretsEncrypted = doc.(*schema.Map), encrypted
		got, err := launcher{ring: ring}.Resolve(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if key := string(got.Agent.LLM.APIKey); key != want {
			t.Errorf("secrets_encrypted %v: the key is %q, want %q", encrypted, key, want)
		}
	}
}
