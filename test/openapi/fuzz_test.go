package openapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// left are paths that schemathesis does not call: they write files anywhere
// and run any command (their packages have tests of their own), or they say 5xx
// for features that are not there, as the reference does.
const left = `(file/upload|file/create_directory|bash/start_bash_command|bash/execute_bash_command` +
	`|vscode/url|/device/)`

// phases are the phases of schemathesis; DEFT_PROOF=1 adds minutes of random
// input.
func phases() []string {
	if os.Getenv("DEFT_PROOF") != "" {
		return []string{"--phases", "coverage,fuzzing", "--max-examples", "30"}
	}
	return []string{"--phases", "coverage"}
}

// schemathesis runs it on the server and fails with its findings.
func schemathesis(t *testing.T, url, settings string, args ...string) {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "schemathesis.toml"), []byte(settings), 0o600))
	program := filepath.Join(filepath.Dir(python(t)), "schemathesis")
	cmd := exec.CommandContext(t.Context(), program, append([]string{
		"run", url + "/openapi.json", "--header", "X-Session-API-Key: " + key,
		"--checks", "not_a_server_error,status_code_conformance,response_schema_conformance,content_type_conformance",
		"--seed", "1", "--workers", "2", "--continue-on-failure", "--no-shrink", "--request-timeout", "180", "--warnings", "off",
		"--exclude-path-regex", left,
	}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("schemathesis: %v\n%s", err, tail(string(out)))
	}
	if !strings.Contains(string(out), "passed") {
		t.Errorf("schemathesis tested nothing:\n%s", tail(string(out)))
	}
}

// tail is the part of a report that tells of failures.
func tail(s string) string {
	if _, after, ok := strings.Cut(s, "= ERRORS ="); ok {
		s = after
	} else if _, after, ok := strings.Cut(s, "= FAILURES ="); ok {
		s = after
	}
	return s[:min(len(s), 20_000)]
}

// TestSchemathesis calls every operation with good and bad input.
func TestSchemathesis(t *testing.T) {
	t.Parallel()
	python(t)
	schemathesis(t, server(t), "", append(phases(), "--exclude-path", "/api/init")...)
}

// TestSchemathesisConversation calls the operations of a conversation that is
// there. Operations that would take it away or give it another model are left out,
// and the security analyzer, which is shown as it was sent, not as it is
// understood.
func TestSchemathesisConversation(t *testing.T) {
	t.Parallel()
	python(t)
	url := server(t)
	var made struct {
		ID string `json:"id"`
	}
	do(t, "POST", url+"/api/conversations", map[string]any{
		"agent_profile_id": withModel(t, url), "workspace": map[string]any{"working_dir": t.TempDir(), "kind": "LocalWorkspace"},
		"initial_message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "hi"}}, "run": true},
	}, &made)
	settings := "[parameters]\n" + `"path.conversation_id" = "` + made.ID + "\"\n" + `"path.runtime_conversation_id" = "` + made.ID + "\"\n"
	schemathesis(t, url, settings, append(phases(), "--include-path-regex", `/api/conversations/\{`,
		"--exclude-method", "DELETE", "--exclude-path-regex", left+`|switch_llm|switch_profile`)...)
}
