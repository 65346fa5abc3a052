package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool/mcp"
)

// TestPrompts has a user's message name prompts of a server, with their arguments.
func TestPrompts(t *testing.T) {
	t.Parallel()
	s := newServer()
	add := func(name, text string, args ...*sdk.PromptArgument) {
		s.AddPrompt(&sdk.Prompt{Name: name, Arguments: args}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			text := text
			if text == "" {
				text = fmt.Sprintf("%q and %q", r.Params.Arguments["city"], r.Params.Arguments["about"])
			}
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: text}},
				{Role: "assistant", Content: &sdk.ImageContent{Data: []byte("PNG"), MIMEType: "image/png"}},
			}}, nil
		})
	}
	add("plain", "Look \x1b[2Jhere: s3cret\U000E0041")
	add("long", strings.Repeat("x", 1<<20))
	add("weather", "", &sdk.PromptArgument{Name: "city", Required: true, Description: "where"}, &sdk.PromptArgument{Name: "about"})
	web, _ := overHTTP(t, s)
	other, _ := overHTTP(t, withResources())
	set := connect(t, map[string]mcp.Server{"my web": web, "other": other}, mcp.Options{Mask: func(s string) string { return strings.ReplaceAll(s, "s3cret", "<masked>") }})
	for message, want := range map[string]string{
		"/my_web:plain":                            "The user has chosen the prompt \"plain\" of the MCP server \"my web\", which wrote this:\n\nLook here: <masked>\n\nAssistant: [Content that is no text was left out.]",
		"/my_web:weather Berlin":                   `"Berlin" and ""`,
		"\n/my_web:weather Berlin the next\n week": `"Berlin" and "the next week"`,
		"/my_web:weather about=rain New York":      `"New York" and "rain"`,
		"/my_web:long":                             "bytes left out",
	} {
		if got, err := set.Prompt(t.Context(), message); err != nil || !strings.Contains(got, want) || len(got) > 70<<10 {
			t.Errorf("%q: %.300s, %v, want %q", message, got, err, want)
		}
	}
	for _, message := range []string{"Say /my_web:plain", "/elsewhere:plain", "/other:plain", "/usr/bin:/bin", "a: b", "/my_web plain", ""} {
		if got, err := set.Prompt(t.Context(), message); got != "" || err != nil {
			t.Errorf("%q names no prompt: %s, %v", message, got, err)
		}
	}
	for message, want := range map[string]struct {
		kind fault.Kind
		text string
	}{
		"/my_web:weather": {fault.Invalid, "needs city (where)"},
		"/my_web:none":    {fault.NotFound, "/my_web:weather CITY [ABOUT]"},
		"/my_web:":        {fault.NotFound, "/my_web:plain"},
	} {
		_, err := set.Prompt(t.Context(), message)
		if said := fmt.Sprint(err, fault.HintOf(err)); !fault.Is(err, want.kind) || !strings.Contains(said, want.text) {
			t.Errorf("%q: %s", message, said)
		}
	}
}
