package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/session"
)

// read handles a client's frames until the connection ends.
func (s *Service) read(ctx context.Context, l *link, p plan, handle func(context.Context, []byte) error) {
	for {
		_, b, err := l.ws.Read(context.Background()) // ends with the connection
		if err != nil {
			return
		}
		if isAuth(b) {
			continue
		}
		if err = syntax(b); err == nil {
			err = handle(ctx, b)
		}
		if err != nil && ctx.Err() == nil && s.complain(l, p, err) != nil {
			return
		}
	}
}

// handle sends the message of a frame.
func (f *follower) handle(ctx context.Context, b []byte) error {
	m, err := parseMessage(b)
	if err != nil {
		return err
	}
	if m.Role != event.RoleUser {
		return &refusal{"AssertionError", "Only user messages are allowed to be sent to the agent."}
	}
	return f.c.Send(ctx, session.Message{Role: m.Role, Content: m.Content, Run: true})
}

// refusal is an error about a frame, with the reference's code.
type refusal struct{ code, detail string }

// Error implements error.
func (r *refusal) Error() string { return r.detail }

func invalid(model, at, format string, args ...any) error {
	if at != "" {
		at = "\n" + at
	}
	return &refusal{"ValidationError", fmt.Sprintf("1 validation error for %s%s\n  %s", model, at, fmt.Sprintf(format, args...))}
}

func syntax(b []byte) error {
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return &refusal{"JSONDecodeError", err.Error()}
	}
	return nil
}

// parseMessage reads a Message from valid JSON. Its content may be text alone;
// fields that a message does not have are ignored.
func parseMessage(b []byte) (m event.Message, err error) {
	var v struct {
		Role    *event.Role     `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if b = bytes.TrimSpace(b); b[0] != '{' {
		return m, invalid("Message", "", "Input should be a valid dictionary or instance of Message")
	}
	if json.Unmarshal(b, &v) != nil {
		return m, invalid("Message", "role", "Input should be 'user', 'system', 'assistant' or 'tool'")
	}
	switch {
	case v.Role == nil:
		return m, invalid("Message", "role", "Field required")
	case *v.Role != event.RoleUser && *v.Role != event.RoleSystem && *v.Role != event.RoleAssistant && *v.Role != event.RoleTool:
		return m, invalid("Message", "role", "Input should be 'user', 'system', 'assistant' or 'tool'")
	}
	m.Role = *v.Role
	m.Content, err = parseContent(v.Content)
	return m, err
}

func parseContent(raw json.RawMessage) (event.List[event.Content], error) {
	var text string
	switch {
	case len(raw) == 0, string(raw) == "null":
		return event.List[event.Content]{}, nil
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return event.List[event.Content]{event.Text(text)}, nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		return nil, invalid("Message", "content", "Input should be an instance of Sequence")
	}
	list := make(event.List[event.Content], len(blocks))
	for i, b := range blocks {
		if !block(b) || list[i].UnmarshalJSON(b) != nil {
			return nil, invalid("Message", fmt.Sprintf("content.%d", i), "Input should be a valid TextContent or ImageContent")
		}
	}
	return list, nil
}

// block reports whether a content block has a known type and its required field.
func block(b json.RawMessage) bool {
	var v struct {
		Type   string           `json:"type"`
		Text   *string          `json:"text"`
		Images *json.RawMessage `json:"image_urls"`
	}
	if json.Unmarshal(b, &v) != nil {
		return false
	}
	switch v.Type {
	case event.TypeText:
		return v.Text != nil
	case event.TypeImage:
		return v.Images != nil
	}
	return v.Type == "" && (v.Text != nil || v.Images != nil)
}

// names are the codes of errors at the reference.
var names = map[fault.Kind]string{
	fault.Invalid:   "ValidationError",
	fault.NotFound:  "ValueError",
	fault.Conflict:  "ValueError",
	fault.Denied:    "PermissionError",
	fault.RateLimit: "ConversationRunLimitExceeded",
	fault.Timeout:   "TimeoutError",
}

// complain sends a client the error about its frame.
func (s *Service) complain(l *link, p plan, err error) error {
	var r *refusal
	var v schema.Violations
	switch {
	case errors.As(err, &r):
	case errors.As(err, &v):
		r = &refusal{"ValidationError", violations(v)}
	default:
		r = &refusal{names[fault.KindOf(err)], err.Error()}
		or(&r.code, "RuntimeError")
		s.o.Log.Warn("a frame of a client failed", "conversation", p.id, "error", err)
	}
	b, err := complaint(p.style, r)
	if err != nil {
		return err
	}
	return l.sendText(clean(b))
}

// violations words the violations of a request for a shell command.
func violations(v schema.Violations) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d validation error(s) for ExecuteBashRequest", len(v))
	for _, one := range v {
		var at []string
		for _, part := range one.Loc[min(1, len(one.Loc)):] {
			at = append(at, fmt.Sprint(part))
		}
		fmt.Fprintf(&b, "\n%s\n  %s", strings.Join(at, "."), one.Msg)
	}
	return b.String()
}

func complaint(s style, r *refusal) ([]byte, error) {
	switch s {
	case envelope:
		return json.Marshal(struct {
			Type   string `json:"type"`
			Code   string `json:"code"`
			Detail string `json:"detail"`
		}{"error", r.code, r.detail})
	case shell:
		return json.Marshal(bash.NewError(r.code, r.detail))
	}
	return event.Marshal(&event.ServerErrorEvent{
		Base: event.NewBase(event.SourceEnvironment), Code: r.code, Detail: r.detail,
	})
}
