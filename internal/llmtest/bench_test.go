package llmtest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
)

// longChat returns a request of about the given number of tool steps, each with
// a result of 1,000 bytes.
func longChat(steps int) string {
	var b strings.Builder
	b.WriteString(`{"model":"m","stream":true,"prompt_cache_key":"s","messages":[` + chatUser)
	result := strings.Repeat("line of output\\n", 62)
	for i := range steps {
		fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":"%s"}`, i, i, result)
	}
	return b.String() + `]}`
}

// BenchmarkHandler measures the server without the network, for short and long
// histories.
func BenchmarkHandler(b *testing.B) {
	for _, steps := range []int{0, 10, 100, 1000} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			srv, err := llmtest.New(benchScript(b), llmtest.Options{MaxRecorded: -1})
			if err != nil {
				b.Fatal(err)
			}
			body := longChat(steps)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, chatPath, strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				res := newResponse()
				if srv.ServeHTTP(res, req); res.status > 200 || !strings.HasSuffix(res.body.String(), "[DONE]\n\n") {
					b.Fatal(res.body.String())
				}
			}
		})
	}
}

// BenchmarkHTTP makes requests over TCP, from many conversations at once.
func BenchmarkHTTP(b *testing.B) {
	srv := llmtest.StartWith(b, benchScript(b), llmtest.Options{MaxRecorded: -1})
	tr := &http.Transport{MaxIdleConnsPerHost: 1000}
	client := &http.Client{Transport: tr}
	defer tr.CloseIdleConnections()
	body := longChat(10)
	b.SetParallelism(500) // times the number of cores
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, srv.URL+chatPath, strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, err = io.Copy(io.Discard, res.Body)
			if cerr := res.Body.Close(); err != nil || cerr != nil {
				b.Error(err, cerr)
				return
			}
		}
	})
}

func benchScript(b *testing.B) *llmtest.Script {
	b.Helper()
	script, err := llmtest.Parse([]byte(rich))
	if err != nil {
		b.Fatal(err)
	}
	script.PerSession, script.ByHistory = true, true
	script.Turns[0].Repeat, script.Turns[0].ChunkSize = llmtest.Forever, 0
	return script
}
