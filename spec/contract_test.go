package spec_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// TestEverySchemaOfTheContract makes the types of all schemas, and holds
// descriptions to fields that exist.
func TestEverySchemaOfTheContract(t *testing.T) {
	t.Parallel()
	fields := map[string]bool{}
	for _, name := range spec.ContractNames() {
		if o, ok := spec.Referred(name).(*schema.Object); ok {
			for _, f := range o.All() {
				if f.Type == nil {
					t.Errorf("%s.%s has no type", name, f.Name)
				}
				fields[name+"."+f.Name] = true
			}
		}
	}
	for _, name := range spec.DescribedFields() {
		if !fields[name] {
			t.Errorf("descriptions.txt describes %s, which does not exist", name)
		}
	}
}

func TestTypesOfTheContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema, body string
		want         string // the first violation, or ""
	}{
		{"StartGoalRequest", `{"objective":"x"}`, ""},
		{"StartGoalRequest", `{}`, "Field required"},
		{"StartGoalRequest", `{"objective":"x","max_iterations":0}`, "Input should be greater than or equal to 1"},
		{"ConversationContainerOptions", `{"memory":"lots"}`, "String should match pattern"},
		{"ConversationContainerOptions", `{"memory":null,"other":1}`, "Extra inputs are not permitted"},
		{"HookDefinition", `{"command":"x","type":"magic"}`, "Input should be 'command'"},
		{"Skill", `{"name":"n","content":"c","trigger":{"type":"keyword"}}`, "Field required"},
		{"SecretSource", `{"kind":"EnvSecret"}`, "Value error, the kind 'EnvSecret' is none of"},
		{"MCPServer", `{"auth":{"strategy":"magic"}}`, "Input tag 'magic' found"},
		{"ForkConversationRequest", `{"id":"x"}`, "Input should be a valid UUID"},
	} {
		v, err := schema.Parse([]byte(c.body))
		must.Succeed(t, err)
		_, err = schema.Check(spec.Referred(c.schema), v, schema.Reading{})
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %q", c.schema, c.body, err, c.want)
		}
	}
}
