package mcpserve

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// written is an output that is kept.
type written struct{ strings.Builder }

func (*written) Close() error { return nil }

// TestLines answers everything that is no message, and goes on.
func TestLines(t *testing.T) {
	t.Parallel()
	parse := `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is no JSON; a message is one line"}}` + "\n"
	for name, c := range map[string]struct{ in, passed, answers string }{
		"a message":         {`{"jsonrpc":"2.0","id":1,"method":"ping"} ` + "\r\n", `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", ""},
		"no end":            {`{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"a"}` + "\n", ""},
		"empty lines":       {"\n \n", "", ""},
		"no JSON":           {"hello\n{\n" + `{"jsonrpc":"2.0","method":"a"}` + "\n", `{"jsonrpc":"2.0","method":"a"}` + "\n", parse + parse},
		"two in a line":     {`{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"a"}`, "", parse},
		"bytes":             {"\xff\xfe\x00\n", "", parse},
		"too long":          {strings.Repeat(" ", maxMessage) + "{}\n" + `{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"a"}` + "\n", fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is longer than %d MiB"}}`+"\n", maxMessage>>20)},
		"another version":   {`{"id":7,"method":"ping"}`, "", `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"this is no message of JSON-RPC 2.0"}}` + "\n"},
		"a batch":           {`[{"jsonrpc":"2.0","method":"a"},5]`, `{"jsonrpc":"2.0","method":"a"}` + "\n", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this is no message of JSON-RPC 2.0"}}` + "\n"},
		"an id of no form":  {`{"jsonrpc":"2.0","id":{},"method":"a"}`, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,` + "…"},
		"an answer without": {`{"jsonrpc":"2.0","result":{}}`, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,` + "…"},
	} {
		out := &written{}
		passed, err := io.ReadAll(newLines(io.NopCloser(strings.NewReader(c.in)), &output{to: out}))
		must.Succeed(t, err)
		answers := out.String()
		if start, ok := strings.CutSuffix(c.answers, "…"); ok && strings.HasPrefix(answers, start) {
			answers = c.answers
		}
		if diff := cmp.Diff([]string{c.passed, c.answers}, []string{string(passed), answers}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
