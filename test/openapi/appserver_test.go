package openapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/interop/interoptest"
)

// leftOfAppServer are paths that schemathesis does not call: it would revoke its own key.
const leftOfAppServer = `/keys`

// TestSchemathesisAppServer calls the operations of `deft serve` that OpenHands' documents
// have, with good and bad input: no answer is 5xx, and each has the schema of its status.
// appserver.py makes the document.
func TestSchemathesisAppServer(t *testing.T) {
	t.Parallel()
	program := filepath.Join(filepath.Dir(python(t)), "schemathesis")
	document, err := filepath.Abs("testdata/appserver.json")
	must.Succeed(t, err)
	url, code, _ := strings.Cut(interoptest.AppServer(t), "/#login=")
	cmd := exec.CommandContext(t.Context(), program, append([]string{
		"run", document, "--url", url, "--header", "Authorization: Bearer " + apiKey(t, url, code),
		"--checks", "not_a_server_error,response_schema_conformance,content_type_conformance",
		"--seed", "1", "--workers", "2", "--continue-on-failure", "--no-shrink", "--request-timeout", "180", "--warnings", "off",
		"--exclude-path-regex", leftOfAppServer,
	}, phases()...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("schemathesis: %v\n%s", err, tail(string(out)))
	}
	if !strings.Contains(string(out), "passed") {
		t.Errorf("schemathesis tested nothing:\n%s", tail(string(out)))
	}
}

// apiKey signs in and makes an API key.
func apiKey(t *testing.T, url, code string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must.Succeed(t, err)
	browser := &http.Client{Jar: jar}
	defer browser.CloseIdleConnections()
	var made struct{ Key string }
	for _, ask := range [][2]string{{"/api/v1/login", `{"code":"` + code + `"}`}, {"/api/keys", `{"name":"schemathesis"}`}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+ask[0], bytes.NewReader([]byte(ask[1])))
		must.Succeed(t, err)
		r.Header.Set("Content-Type", "application/json")
		resp, err := browser.Do(r)
		must.Succeed(t, err)
		err = json.NewDecoder(resp.Body).Decode(&made)
		resp.Body.Close()
		if ask[0] == "/api/keys" && (err != nil || made.Key == "") {
			t.Fatalf("no key was made: %v", err)
		}
	}
	return made.Key
}
