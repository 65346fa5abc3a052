package appserver_test

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestFormerUpload uploads a file as the web UI 0.62 does with its V1 flag on: to a directory
// that its agent does not see, which the page then names in the message. The agent finds it
// all the same, and the page knows the path of the action.
func TestFormerUpload(t *testing.T) {
	t.Parallel()
	s, c := v0Server(t)
	var tasks []struct {
		ID string `json:"app_conversation_id"`
	}
	c.call(http.StatusOK, "POST", "/api/v1/app-conversations/stream-start", map[string]any{}, &tasks)
	c.id = tasks[len(tasks)-1].ID
	var shown v0Conversation
	c.call(http.StatusOK, "GET", "", nil, &shown)
	if shown.Key == nil {
		t.Fatalf("got %+v", shown)
	}
	upload := func(path string) {
		t.Helper()
		body := &bytes.Buffer{}
		parts := multipart.NewWriter(body)
		part, err := parts.CreateFormFile("file", "any.txt")
		if err == nil {
			_, err = part.Write([]byte("from the page"))
		}
		if err = errors.Join(err, parts.Close()); err != nil {
			t.Fatal(err)
		}
		c.call(http.StatusOK, "POST", "/api/file/upload/"+path, body.Bytes(), http.Header{
			"Origin": {s.url}, "X-Session-Api-Key": {*shown.Key}, "Content-Type": {parts.FormDataContentType()},
		})
	}
	upload("%2Fworkspace%2Fnobody%27s.txt") // no page follows the conversation: it stays where it was put
	conn, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/sockets/events/"+c.id+"?resend_all=true&session_api_key="+*shown.Key,
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {s.url}}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		t.Cleanup(func() { _ = res.Body.Close() })
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(32 << 20)
	read := func(until string) (all string) {
		t.Helper()
		for !strings.Contains(all, until) {
			_, raw, err := conn.Read(t.Context())
			if err != nil {
				t.Fatalf("no frame has %s: %v: %.3000s", until, err, all)
			}
			all += string(raw) + "\n"
		}
		return all
	}
	read("full_state") // it follows

	upload("%2Fworkspace%2Fup%20load.txt")
	upload("%2Fworkspace%2Fproject%2Fdeep%2Fbelow.txt")
	const message = `{"role":"user","content":[{"type":"text","text":"look\n\nNEW FILES ADDED: /workspace/up load.txt"}]}`
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	all := read("it is read")
	for _, part := range []string{"from the page", `"path":"/workspace/project/up load.txt"`} {
		if !strings.Contains(all, part) {
			t.Errorf("the page does not get %s: %s", part, all)
		}
	}
	var names []string
	c.call(http.StatusOK, "GET", "list-files", nil, &names)
	want(t, "files", names, []string{"deep/", "up load.txt"})
}
