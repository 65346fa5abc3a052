package conversation_test

import (
	"strings"
	"testing"
)

// TestIDsOfRequests holds that ids are taken in the forms that the reference
// takes, in paths, queries and bodies.
func TestIDsOfRequests(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	c := h.begin(t)
	ask := h.serve(t)
	id := string(c.ID())
	hex := strings.ReplaceAll(id, "-", "")
	for form, ok := range map[string]bool{
		id: true, hex: true, strings.ToUpper(id): true, "{" + id + "}": true, "urn:uuid:" + id: true,
		"{" + hex + "}": false, "urn:uuid:" + hex: false, "URN:UUID:" + id: false, id + "0": false,
	} {
		path := strings.NewReplacer("{", "%7B", "}", "%7D").Replace(form)
		body := `{"workspace":{"working_dir":"` + h.work + `"},"agent":{"kind":"Agent","llm":{"model":"openai/mock"}},"conversation_id":"` + form + `"}`
		for _, at := range []string{"GET /" + path, "GET ?ids=" + path, "POST "} {
			method, rest, _ := strings.Cut(at, " ")
			status, answer := ask(method, rest, body)
			if good := status == 200; good != ok || !good && (status != 422 || !strings.Contains(answer, "uuid_parsing")) {
				t.Errorf("%s with %s: %d %s", at, form, status, answer)
			}
		}
	}
}
