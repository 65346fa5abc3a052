package llmtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// FuzzRequest sends any body to each protocol, strict and lenient. The answer
// is always JSON or events of JSON, with status 200 or 400.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		chatBody(chatUser + "," + chatCall + "," + chatA + "," + chatB), inputBody(chatUser + "," + itemCall + "," + itemOutput),
		messagesBody(chatUser + "," + messagesCall + "," + userBlocks(resultB+","+resultA)), geminiBody(geminiUser + "," + geminiCall + "," + geminiResult),
		geminiHello, `{"model":"m","stream":true,"input":"x","tools":[{"type":"function"}]}`, `{"messages":[[1],null,"x",{"content":[{}]}]}`,
		`{"messages":{"0":{"role":"user"}},"contents":{"a":1},"input":[[]],"metadata":{"user_id":3}}`, "[", `{"a":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	servers := make([]*llmtest.Server, 2)
	for i := range servers {
		script, err := llmtest.Parse([]byte(rich))
		must.Succeed(f, err)
		script.Lenient = i == 1
		script.Turns[0].Repeat = llmtest.Forever
		script.Turns[0].Reply.Text = "{{.LastUser}} {{.LastToolResult}} {{.System}}"
		if servers[i], err = llmtest.New(script, llmtest.Options{MaxRecorded: -1}); err != nil {
			f.Fatal(err)
		}
	}
	paths := []string{chatPath, responsesPath, messagesPath, messagesPath + "/count_tokens", geminiPath, "/v1beta/models/g:streamGenerateContent?alt=sse"}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, srv := range servers {
			for _, path := range paths {
				res := newResponse()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(string(body)))
				must.Succeed(t, err)
				req.Header.Set("Anthropic-Version", "2023-06-01")
				srv.ServeHTTP(res, req)
				checkJSON(t, path, res)
			}
		}
	})
}

func checkJSON(t *testing.T, path string, res *response) {
	t.Helper()
	if res.status != 0 && res.status != 200 && res.status != 400 {
		t.Errorf("%s: status %d: %s", path, res.status, res.body.String())
	}
	parts := []string{res.body.String()}
	if strings.HasPrefix(res.header.Get("Content-Type"), "text/event-stream") {
		parts = events(res.body.String())
	}
	for _, p := range parts {
		if p != "[DONE]" && !json.Valid([]byte(p)) {
			t.Errorf("%s: not JSON: %q", path, p)
		}
	}
}
