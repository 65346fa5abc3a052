package acpserve

import (
	"encoding/json"
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// contentOf makes the content of a message of the blocks of a prompt.
func contentOf(blocks []acp.ContentBlock) (event.List[event.Content], error) {
	var text strings.Builder
	var out event.List[event.Content]
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			fmt.Fprintf(&text, "[%s](%s)", b.ResourceLink.Name, b.ResourceLink.Uri)
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			fmt.Fprintf(&text, "\n\n%s:\n%s\n", r.Uri, fenced(r.Text))
		case b.Image != nil:
			if !strings.HasPrefix(b.Image.MimeType, "image/") {
				return nil, fault.New(fault.Invalid, "an image has the type "+b.Image.MimeType)
			}
			out = append(out, event.Image("data:"+b.Image.MimeType+";base64,"+b.Image.Data))
		default:
			return nil, fault.New(fault.Unsupported, "a prompt may have text, images and texts of files, and nothing else")
		}
	}
	if strings.TrimSpace(text.String()) == "" && len(out) == 0 {
		return nil, fault.New(fault.Invalid, "the prompt is empty")
	}
	return append(event.Texts(strings.TrimSpace(text.String())), out...), nil
}

// fenced puts a text into a block of code whose fence the text does not have.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// serversOf makes a document with mcpServers of the client's MCP servers; nil for none.
func serversOf(all []acp.McpServer) (json.RawMessage, error) {
	if len(all) == 0 {
		return nil, nil
	}
	type server struct {
		Command   string            `json:"command,omitempty"`
		Args      []string          `json:"args,omitempty"`
		Env       map[string]string `json:"env,omitempty"`
		URL       string            `json:"url,omitempty"`
		Transport string            `json:"transport,omitempty"`
		Headers   map[string]string `json:"headers,omitempty"`
	}
	servers := map[string]server{}
	for _, one := range all {
		name, s := "", server{}
		switch {
		case one.Stdio != nil:
			name, s = one.Stdio.Name, server{Command: one.Stdio.Command, Args: one.Stdio.Args, Env: map[string]string{}}
			for _, v := range one.Stdio.Env {
				s.Env[v.Name] = v.Value
			}
		case one.Http != nil:
			name, s = one.Http.Name, server{URL: one.Http.Url, Transport: "http", Headers: headersOf(one.Http.Headers)}
		case one.Sse != nil:
			name, s = one.Sse.Name, server{URL: one.Sse.Url, Transport: "sse", Headers: headersOf(one.Sse.Headers)}
		default:
			return nil, fault.New(fault.Unsupported, "an MCP server is a program, or has a URL")
		}
		if _, twice := servers[name]; twice || name == "" {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("there are two MCP servers called %q, or one has no name", name))
		}
		servers[name] = s
	}
	return json.Marshal(map[string]any{"mcpServers": servers})
}

func headersOf(all []acp.HttpHeader) map[string]string {
	out := map[string]string{}
	for _, h := range all {
		out[h.Name] = h.Value
	}
	return out
}
