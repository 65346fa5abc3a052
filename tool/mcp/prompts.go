package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// maxPrompt bounds the text of a prompt, in bytes.
const maxPrompt = 64 << 10

// promptCommand matches a message that begins with the command of a prompt.
var promptCommand = lazyregexp.New(`(?s)^\s*/([^\s:/]+):(\S*)(.*)$`)

// Prompt returns the text of the prompt that a user's message names by the command
// /SERVER:PROMPT with its arguments behind; "" for a message that names no server with prompts.
// NotFound for a prompt that the server lacks, with the prompts that it has; Invalid if an argument is
// missing.
func (s *Set) Prompt(ctx context.Context, message string) (string, error) {
	m := promptCommand().FindStringSubmatch(message)
	if m == nil {
		return "", nil
	}
	sv := s.answersTo(m[1])
	if sv == nil {
		return "", nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, sv.config.limit(s.opts.CallTimeout), errSlow)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	text, err := sv.prompt(limited, m[2], m[3])
	return s.opts.Mask(text), slow(limited, sv.config.limit(s.opts.CallTimeout), err)
}

func (s *server) prompt(ctx context.Context, name, words string) (string, error) {
	known, err := s.listPrompts(ctx)
	if err != nil {
		return "", s.failed("list the prompts of the MCP server "+describe(s.name, 200), err)
	}
	for _, p := range known {
		if p.Name != name {
			continue
		}
		args, err := argumentsOf(p, words)
		if err != nil {
			return "", err
		}
		var got *sdk.GetPromptResult
		err = s.ask(ctx, func(live *session) (err error) {
			got, err = live.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: args})
			return err
		})
		if err != nil {
			return "", s.failed("ask the MCP server "+describe(s.name, 200)+" for its prompt "+describe(name, 200), err)
		}
		return fmt.Sprintf("The user has chosen the prompt %q of the MCP server %q, which wrote this:\n\n%s", describe(name, 200), s.name, shorten(wordsOf(got), maxPrompt)), nil
	}
	return "", fault.New(fault.NotFound, fmt.Sprintf("the MCP server %s has no prompt %q", describe(s.name, 200), describe(name, 200))).
		Hint("it has " + usages(s.name, known))
}

func (s *server) listPrompts(ctx context.Context) (all []*sdk.Prompt, err error) {
	err = s.ask(ctx, func(live *session) error {
		params := &sdk.ListPromptsParams{}
		for range maxPages {
			page, err := live.ListPrompts(ctx, params)
			if err != nil {
				return err
			}
			for _, p := range page.Prompts {
				if p != nil && len(all) < maxResources {
					p.Arguments = slices.DeleteFunc(p.Arguments, func(a *sdk.PromptArgument) bool { return a == nil })
					all = append(all, p)
				}
			}
			if page.NextCursor == "" || page.NextCursor == params.Cursor {
				return nil
			}
			params.Cursor = page.NextCursor
		}
		return nil
	})
	return all, err
}

// usages are the commands of a server's prompts.
func usages(server string, all []*sdk.Prompt) string {
	lines := make([]string, len(all))
	for i, p := range all {
		lines[i] = "/" + toolName(server) + ":" + describe(p.Name, 200)
		for _, a := range p.Arguments {
			word := strings.ToUpper(describe(a.Name, 50))
			if !a.Required {
				word = "[" + word + "]"
			}
			lines[i] += " " + word
		}
	}
	return available(lines)
}

// argumentsOf reads the arguments of a prompt: NAME=VALUE, and others in their order, the last of
// which takes the rest.
func argumentsOf(p *sdk.Prompt, words string) (map[string]string, error) {
	args := map[string]string{}
	var free []string // that no NAME=VALUE has given
	for _, a := range p.Arguments {
		free = append(free, a.Name)
	}
	var rest []string
	for word := range strings.FieldsSeq(words) {
		name, value, ok := strings.Cut(word, "=")
		if i := slices.Index(free, name); ok && i >= 0 {
			args[name] = value
			free = slices.Delete(free, i, i+1)
			continue
		}
		rest = append(rest, word)
	}
	for i, name := range free {
		switch {
		case i >= len(rest):
		case i == len(free)-1:
			args[name] = strings.Join(rest[i:], " ")
		default:
			args[name] = rest[i]
		}
	}
	for _, a := range p.Arguments {
		if a.Required && args[a.Name] == "" {
			what := describe(a.Name, 100)
			if about := describe(a.Description, 200); about != "" {
				what += " (" + about + ")"
			}
			return nil, fault.New(fault.Invalid, "the prompt "+describe(p.Name, 200)+" needs "+what).Hint("write it behind the name, or as " + describe(a.Name, 100) + "=VALUE")
		}
	}
	return args, nil
}

// wordsOf is the text of a prompt. Other content is named.
func wordsOf(r *sdk.GetPromptResult) string {
	var parts []string
	for _, m := range r.Messages {
		if m == nil {
			continue
		}
		text := "[Content that is no text was left out.]"
		switch c := m.Content.(type) {
		case *sdk.TextContent:
			text = c.Text
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				text = "[Resource " + describe(c.Resource.URI, 500) + "]\n" + c.Resource.Text
			}
		case *sdk.ResourceLink:
			text = "[Link to a resource: " + describe(c.Name+" "+c.URI, 1000) + "]"
		}
		if m.Role == "assistant" {
			text = "Assistant: " + text
		}
		parts = append(parts, clean(text))
	}
	return strings.Join(parts, "\n\n")
}
