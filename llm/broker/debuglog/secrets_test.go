package debuglog_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker/debuglog"
)

// canned answers each request with the same body.
type canned string

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}

// TestNoSecretIsWritten mixes a key, parts of it and other text in bodies of
// all lengths: no eight consecutive characters of the key are ever written.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`sk-[A-Za-z0-9/+_]{10,40}`).Draw(t, "key")
		piece := rapid.OneOf(
			rapid.Just(key), rapid.StringMatching(`[ -~é]{0,12}`),
			rapid.Custom(func(t *rapid.T) string { return key[rapid.IntRange(0, len(key)).Draw(t, "from"):] }),
		)
		body := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
		log, err := debuglog.Open(dir, debuglog.Options{MaxBody: rapid.IntRange(1, 300).Draw(t, "limit"), MaxFiles: 1, OnError: func(err error) { t.Error(err) }})
		must.Succeed(t, err)
		req, err := http.NewRequest(http.MethodPost, "http://h/v1", strings.NewReader(body))
		must.Succeed(t, err)
		res, err := log.Transport(canned(body), llm.Secret(key)).RoundTrip(req)
		must.Succeed(t, err)
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		b, err := os.ReadFile(files[0])
		must.Succeed(t, err)
		for i := range len(key) - 8 {
			if strings.Contains(string(b), key[i:i+8]) {
				t.Fatalf("%q of %q is in %s", key[i:i+8], key, b)
			}
		}
	})
}
