package memory

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/structured"
)

//go:embed structured.md
var structuredPrompt string

// stateField is a field of a structured summary.
type stateField struct{ name, title, about string }

// stateFields are the fields of a structured summary (docs/condensers.md).
var stateFields = []stateField{
	{"user_context", "User's context", "What the user wants, with every constraint, preference and clarification."},
	{"completed_tasks", "Completed tasks", "Tasks that are done, with their results."},
	{"pending_tasks", "Pending tasks", "Tasks that are left, and the step that was to come next."},
	{"current_state", "Current state", "Variables, data and values that matter now."},
	{"files_modified", "Files", "Each file that was created or changed, with its path and what changed."},
	{"function_changes", "Functions", "Functions that were created or changed."},
	{"data_structures", "Data structures", "Data structures and types that were created or changed."},
	{"tests", "Tests", "Tests that were written, whether they pass, and the names of those that fail."},
	{"error_messages", "Errors", "Error messages that were met, and what failed to cure them."},
	{"version_control", "Version control", "Branch, commits and pull requests."},
	{"dependencies", "Dependencies", "Packages that were added or changed."},
	{"other_relevant_context", "Other", "Anything else that will matter."},
}

// stateSchema is the JSON schema of a structured summary.
var stateSchema = func() json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","additionalProperties":false,"properties":{`)
	for i, f := range stateFields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:{\"type\":\"string\",\"description\":%q}", f.name, f.about)
	}
	b.WriteString(`},"required":["user_context","pending_tasks"]}`)
	return json.RawMessage(b.String())
}()

// writeFields asks for a summary of the fields.
func writeFields(ctx context.Context, m llm.Model, r llm.Request) (text, response string, err error) {
	fields, resp, err := structured.Ask[map[string]string](ctx, m, r)
	if err != nil {
		return "", "", err
	}
	var parts []string
	for _, f := range stateFields {
		if v := strings.TrimSpace(fields[f.name]); v != "" {
			parts = append(parts, "## "+f.title+"\n"+v)
		}
	}
	if len(parts) == 0 {
		return "", "", noSummary(m)
	}
	return strings.Join(parts, "\n\n"), resp.ID, nil
}
