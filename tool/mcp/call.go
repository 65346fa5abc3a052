package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Executor runs the actions of all tools of the set. The call, not the action,
// names the tool. Closing the executor leaves the set open.
func (s *Set) Executor() tool.Executor { return executor{s} }

type executor struct{ set *Set }

// Execute implements [tool.Executor].
func (e executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.MCPToolAction)
	if !ok || c.Tool == "" {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("a %T of the tool %q is not for an MCP server", c.Action, c.Tool))
	}
	return e.set.Call(ctx, c.Tool, a.Data), nil
}

// Close implements [tool.Executor].
func (executor) Close() error { return nil }

// Call calls a tool by the name that the model uses, with arguments as JSON.
// Every failure is in the observation. When ctx ends, the call is canceled at
// the server, and the observation says that the effect is unknown.
func (s *Set) Call(ctx context.Context, name string, arguments json.RawMessage) *event.MCPToolObservation {
	o := s.current()[name]
	if o == nil {
		return failure(name, fmt.Sprintf("There is no MCP tool %q any more; its server has withdrawn it or has ended.", name))
	}
	args, err := expandArguments(arguments, s.opts.Secrets)
	if err != nil {
		return failure(name, "The arguments are not a JSON object: "+err.Error())
	}
	if o.own != nil {
		return s.callOwn(ctx, o, args)
	}
	most := o.server.config.limit(s.opts.CallTimeout)
	limited, cancel := context.WithTimeoutCause(ctx, most, errSlow)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	result, err := o.call(limited, args)
	switch {
	case err == nil:
		s.settle(ctx, o.server)
		return s.observe(name, result)
	case ctx.Err() != nil:
		return failure(name, "The call was interrupted; whether it had an effect is not known.")
	case errors.Is(context.Cause(limited), errSlow):
		return failure(name, fmt.Sprintf(
			"MCP tool '%s' timed out after %g seconds. Whether it had an effect is not known; the server may hang or need longer.",
			name, most.Seconds()))
	}
	said := o.server.config.conceal(fmt.Sprintf("Error calling MCP tool %s: %v", name, err))
	return failure(name, shorten(s.opts.Mask(clean(said)), maxText))
}

// call calls the tool.
func (o *offered) call(ctx context.Context, args json.RawMessage) (result *sdk.CallToolResult, err error) {
	err = o.server.ask(ctx, func(live *session) error {
		result, err = live.CallTool(ctx, &sdk.CallToolParams{Name: o.remote, Arguments: args})
		return err
	})
	return result, err
}

// ask sends a request in the live session, or in a new one if the old one has
// ended. A server that reports an unknown session has run nothing, so the request
// is sent again in a new session.
func (s *server) ask(ctx context.Context, request func(*session) error) error {
	for again := false; ; again = true {
		live, err := s.get(ctx)
		if err != nil {
			return fmt.Errorf("the server cannot be reached: %w", err)
		}
		err = request(live)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, sdk.ErrSessionMissing) && !again:
			live.close()
			continue
		case errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, io.EOF), live.over():
			live.close()
			if live.program != nil {
				err = live.program.explain(err)
			}
			err = fmt.Errorf("%w (whether it had an effect is not known; the next call connects again)", err)
		}
		return formless(err)
	}
}

// formless says of an answer whose JSON is not of the protocol's form which part of it is wrong.
func formless(err error) error {
	var form *json.UnmarshalTypeError
	if !errors.As(err, &form) {
		return err
	}
	at := "it"
	if form.Field != "" {
		at = "its field " + form.Field
	}
	return fmt.Errorf("the answer of the server is not of the protocol's form: %s cannot be read", at)
}

// observe makes the observation of a result.
func (s *Set) observe(name string, r *sdk.CallToolResult) *event.MCPToolObservation {
	obs := failure(name, "[Tool '"+name+"' executed.]")
	obs.IsError = r.IsError
	left, images := maxText, 0
	add := func(text string) {
		text = s.opts.Mask(clean(text))
		if left <= 0 || text == "" {
			return
		}
		text = shorten(text, left)
		left -= len(text)
		obs.Content = append(obs.Content, event.Text(text))
	}
	for _, block := range r.Content {
		switch b := block.(type) {
		case *sdk.TextContent:
			add(b.Text)
		case *sdk.ImageContent:
			if url := dataURL(b); url != "" && images < maxImages {
				images++
				obs.Content = append(obs.Content, event.Image(url))
			} else {
				add("[An image of the result was left out.]")
			}
		case *sdk.EmbeddedResource:
			if b.Resource != nil && b.Resource.Text != "" {
				add("[Resource " + describe(b.Resource.URI, 500) + "]\n" + b.Resource.Text)
			}
		case *sdk.ResourceLink:
			add("[Link to a resource: " + describe(b.Name+" "+b.URI, 1000) + "]")
		}
	}
	if len(obs.Content) == 1 && r.StructuredContent != nil {
		if raw, err := json.Marshal(r.StructuredContent); err == nil {
			add(string(raw))
		}
	}
	if r.NeedsInput() {
		obs.IsError = true
		add("The server asks for input from a person, which is not supported.")
	}
	return obs
}

func failure(name, text string) *event.MCPToolObservation {
	return &event.MCPToolObservation{
		ObservationBase: event.ObservationBase{Content: event.Texts(text), IsError: true},
		ToolName:        name,
	}
}

// dataURL returns an image as models take it, or "" for one they do not.
func dataURL(b *sdk.ImageContent) string {
	mime := strings.ToLower(strings.TrimSpace(b.MIMEType))
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return ""
	}
	encoded := base64.StdEncoding.EncodeToString(b.Data)
	if len(encoded) == 0 || len(encoded) > maxImageBytes {
		return ""
	}
	return "data:" + mime + ";base64," + encoded
}
