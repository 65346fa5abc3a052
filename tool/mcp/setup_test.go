package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/mcp"
	"github.com/deft-dev/deft/tool/program"
)

// serveEnv makes this test binary an MCP server over stdio.
const serveEnv = "DEFT_TEST_MCP_SERVER"

// cutKey is said by servers where a text is cut.
const cutKey = "s3cret-and-a-key-that-is-long-enough-to-lie-there-in-any-case"

func TestMain(m *testing.M) {
	switch os.Getenv(serveEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "say and die":
		fmt.Fprintln(os.Stderr, "no license \x1b[31mfound\x1b[0m for", os.Getenv("KEY"))
		os.Exit(3)
	case "say much and die", "print much and die":
		to, most := os.Stderr, 4096
		if os.Getenv(serveEnv)[0] == 'p' {
			to, most = os.Stdout, 500
		}
		fmt.Fprintln(to, strings.Repeat("x", most-4)+cutKey+strings.Repeat("y", 200))
		os.Exit(3)
	case "fail much":
		eachRequest(func(r request) {
			if r.Method == "tools/list" {
				fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[{\"name\":\"fail\",\"inputSchema\":{\"type\":\"object\"}}]}}\n", r.ID)
				return
			}
			text := strings.Repeat("x", 128<<10-80) + cutKey + strings.Repeat("x", 256<<10)
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32603,\"message\":\"%s\"}}\n", r.ID, text)
		})
	case "silent":
		time.Sleep(math.MaxInt64) // select {} would be a deadlock, which ends the process
	case "odd":
		serveOddly()
	case "changing":
		serveChanging()
	case "print and die":
		fmt.Println("error: no \x1b[31mlicense\x1b[0m for", os.Getenv("KEY"))
		os.Exit(3)
	case "noisy":
		fmt.Println("[info] started with " + os.Getenv("KEY") + "\n{not json}\nnpm notice: a new version is there")
		fmt.Println("not json\n\n" + strings.Repeat("x", 200<<10) + strings.Repeat("\nmore", 200))
		serve()
	case "endless":
		for {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
	default:
		serve()
	}
}

// request is a request as a server by hand reads it.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct{ Name string }
}

const fine = `{"content":[{"type":"text","text":"fine"}]}`

// answerByHand reads requests and prints the result of each.
func answerByHand(result func(request) string) {
	eachRequest(func(r request) { fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", r.ID, result(r)) })
}

func eachRequest(do func(request)) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r request
		switch {
		case json.Unmarshal(in.Bytes(), &r) != nil || r.ID == nil:
		case r.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"odd","version":"1"}}}`+"\n", r.ID)
		default:
			do(r)
		}
	}
}

// serveOddly is a server by hand. Before each answer it prints lines that are no messages, and
// it writes the ids of requests as text. Its tool "huge" answers with more than is read.
func serveOddly() {
	eachRequest(func(r request) {
		result := fine
		switch {
		case r.Method == "tools/list":
			result = `{"tools":[{"name":"small","inputSchema":{"type":"object"}},{"name":"huge","inputSchema":{"type":"object"}},{"name":"huge_last","inputSchema":{"type":"object"}},{"name":"batch","inputSchema":{"type":"object"}},{"name":"long_log","inputSchema":{"type":"object"}},{"name":"formless","inputSchema":{"type":"object"}}]}`
		case strings.HasPrefix(r.Params.Name, "huge"):
			result = `{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]}`
		case r.Params.Name == "formless":
			result = `{"content":"text"}`
		}
		fmt.Println("{\"level\":\"info\",\"msg\":\"" + r.Method + "\"}\n{}\n[1,2]\n{\"jsonrpc\":\"2.0\"}\n{\"method\":\"GET\",\"path\":\"/\"}\n\"text\"\n7\n\ufeff{\"id\":null}")
		switch r.Params.Name {
		case "long_log":
			fmt.Println(strings.Repeat("x", 17<<20))
			fmt.Printf("{\"id\":%s,\"result\":\"logged\"}\n{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":null,\"error\":null,\"result\":%s}\n", r.ID, r.ID, result)
		case "huge_last":
			fmt.Printf("{\"result\":%s,\"id\":%s,\"jsonrpc\":\"2.0\"}\n", result, r.ID)
		case "batch":
			fmt.Printf("[{\"level\":1},{\"id\":\"%s\",\"result\":%s}]\n", r.ID, result)
		default:
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":%s}\n", r.ID, result)
		}
	})
}

func serve() {
	if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
	}
}

type textArgs struct {
	Text string `json:"text" jsonschema:"the text"`
}

// newServer is a real server with a few tools.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again.\u200b\U000E0041 \x1b[2JNow."},
		func(_ context.Context, _ *sdk.CallToolRequest, a textArgs) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Text}}}, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "fail", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, errors.New("it broke")
		})
	sdk.AddTool(s, &sdk.Tool{Name: "picture"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{
				&sdk.ImageContent{Data: []byte("PNG"), MIMEType: "image/png"},
				&sdk.ImageContent{Data: []byte("<svg/>"), MIMEType: "image/svg+xml"},
			}}, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "die"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			os.Exit(1)
			return nil, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "env"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "wait"},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	return s
}

// overStdio is this test binary as a server.
func overStdio(mode string) mcp.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return mcp.Server{Command: self, Env: map[string]string{serveEnv: mode}}
}

// overHTTP serves s and returns how to reach it; requests counts its requests.
func overHTTP(t *testing.T, s *sdk.Server) (server mcp.Server, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return mcp.Server{URL: h.URL, Transport: mcp.HTTP}, requests
}

// started starts servers over stdio, as where there is no sandbox.
func started(o mcp.Options) mcp.Options {
	o.Programs = program.New(program.Options{Env: program.HostEnv()})
	return o
}

// connect connects, and fails the test on any warning.
func connect(t *testing.T, servers map[string]mcp.Server, o mcp.Options) *mcp.Set {
	t.Helper()
	set, warnings := mcp.Connect(t.Context(), servers, started(o))
	t.Cleanup(func() { set.Close() })
	for _, w := range warnings {
		t.Fatal(w)
	}
	return set
}

func names(set *mcp.Set) string {
	var out []string
	for _, d := range set.Definitions() {
		out = append(out, d.Name)
	}
	return strings.Join(out, " ")
}

// ask calls a tool the way the agent does: parsed by a tool.Set, run by the
// executor.
func ask(t *testing.T, set *mcp.Set, name, args string) *event.MCPToolObservation {
	t.Helper()
	tools, err := tool.NewSet(set.Definitions()...)
	must.Succeed(t, err)
	p, err := tools.Parse(name, args)
	must.Succeed(t, err)
	obs, err := set.Executor().Execute(t.Context(), tool.Call{
		Action: p.Action, Tool: p.Definition.Name, Progress: func(tool.Chunk) {},
	})
	must.Succeed(t, err)
	return obs.(*event.MCPToolObservation)
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
