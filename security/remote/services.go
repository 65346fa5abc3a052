package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/security"
)

// graySwan asks Cygnal. A score is a violation from 0 to 1; an instruction hidden in the
// material of the agent (ipi) is HIGH.
func (c *Client) graySwan(ctx context.Context, g security.GraySwan, about security.Case) (security.Assessment, error) {
	key, policy := security.Key(g.APIKey), *g.PolicyID
	if g.APIURL == security.GraySwanURL {
		key = cmp.Or(key, c.env("GRAYSWAN_API_KEY"))
		if policy == security.GraySwanPolicy {
			policy = cmp.Or(c.env("GRAYSWAN_POLICY_ID"), policy)
		}
	}
	if key == "" {
		return security.Assessment{}, fault.New(fault.Invalid, "the service needs a key").
			Hint("set api_key of the analyzer, or GRAYSWAN_API_KEY where Deft runs")
	}
	type result struct {
		Violation *float64 `json:"violation"`
		IPI       bool     `json:"ipi"`
	}
	var got struct {
		result
		Output struct { // an older form
			Data result `json:"data"`
		} `json:"output"`
	}
	body := struct {
		Messages []message `json:"messages"`
		PolicyID string    `json:"policy_id"`
	}{bounded(messages(about, g.HistoryLimit), g.MaxMessageChars), policy}
	if err := c.ask(ctx, g.Timeout, outbound.Ask{Method: http.MethodPost, URL: g.APIURL, Key: key, Body: body}, &got); err != nil {
		return security.Assessment{}, err
	}
	score := got.Violation
	if score == nil {
		score = got.Output.Data.Violation
	}
	if score == nil {
		return security.Assessment{}, fault.New(fault.Unavailable, "the answer of the service has no violation")
	}
	details := "violation " + strconv.FormatFloat(*score, 'f', 2, 64)
	switch {
	case got.IPI || got.Output.Data.IPI:
		return security.Rated(event.RiskHigh, details+", indirect prompt injection"), nil
	case *score <= g.LowThreshold:
		return security.Rated(event.RiskLow, details), nil
	case *score <= g.MediumThreshold:
		return security.Rated(event.RiskMedium, details), nil
	}
	return security.Rated(event.RiskHigh, details), nil
}

// ownService asks a server of one's own.
func (c *Client) ownService(ctx context.Context, h security.HTTP, about security.Case) (security.Assessment, error) {
	type action struct {
		ID        event.ID `json:"id"`
		Tool      string   `json:"tool"`
		Arguments string   `json:"arguments"`
		Summary   string   `json:"summary"`
	}
	a := about.Action
	body := struct {
		Conversation event.ConversationID `json:"conversation_id"`
		Action       action               `json:"action"`
		Messages     []message            `json:"messages"`
	}{about.Conversation, action{a.ID, a.ToolName, about.Text(unrated(a.ToolCall.Arguments)), about.Text(a.Summary)}, messages(about, h.HistoryLimit)}
	var got struct {
		Risk   string `json:"risk"`
		Reason string `json:"reason"`
	}
	if err := c.ask(ctx, h.Timeout, outbound.Ask{Method: http.MethodPost, URL: h.URL, Key: security.Key(h.APIKey), Body: body}, &got); err != nil {
		return security.Assessment{}, err
	}
	risk := event.Risk(strings.ToUpper(got.Risk))
	if !slices.Contains([]event.Risk{event.RiskUnknown, event.RiskLow, event.RiskMedium, event.RiskHigh}, risk) {
		return security.Assessment{}, fault.New(fault.Unavailable, "the answer of the service has no risk LOW, MEDIUM, HIGH or UNKNOWN")
	}
	return security.Rated(risk, got.Reason), nil
}

// monitorKey is what a monitor of an Invariant server was made for.
type monitorKey struct {
	server       string
	conversation event.ConversationID
	policy       string
}

// mostMonitors bounds the monitors that are remembered; one that is forgotten is made again.
const mostMonitors = 1000

// invariant asks an Invariant server, whose monitor of a conversation is made at the first
// action. One that the server has forgotten is made again.
func (c *Client) invariant(ctx context.Context, i security.Invariant, about security.Case) (security.Assessment, error) {
	key := monitorKey{strings.TrimSuffix(i.APIURL, "/"), about.Conversation, ""}
	if i.Policy != nil {
		key.policy = *i.Policy
	}
	c.mu.Lock()
	monitor := c.monitors[key]
	c.mu.Unlock()
	past, pending := traces(about)
	for fresh := false; ; fresh = true {
		if monitor == "" || fresh {
			var err error
			if monitor, err = c.newMonitor(ctx, key, i); err != nil {
				return security.Assessment{}, err
			}
		}
		var results []string
		err := c.ask(ctx, i.Timeout, outbound.Ask{Method: http.MethodPost, URL: key.path("monitor", monitor, "check"), Body: map[string]any{
			"past_events": past, "pending_events": pending,
		}}, &results)
		if err == nil {
			return worstOf(results), nil
		}
		if status, ok := errors.AsType[outbound.StatusError](err); !ok || status >= http.StatusInternalServerError || fresh {
			return security.Assessment{}, err
		}
	}
}

// path is the address of a part of the server's API within the conversation's session.
func (k monitorKey) path(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return k.server + "/" + strings.Join(parts, "/") + "?session_id=" + url.QueryEscape(string(k.conversation))
}

// newMonitor begins a session of the conversation, and has its actions checked by the policy.
func (c *Client) newMonitor(ctx context.Context, key monitorKey, i security.Invariant) (string, error) {
	var session json.RawMessage
	if err := c.ask(ctx, i.Timeout, outbound.Ask{Method: http.MethodGet, URL: key.path("session", "new")}, &session); err != nil {
		return "", err
	}
	rule := key.policy
	if i.Policy == nil {
		if err := c.ask(ctx, i.Timeout, outbound.Ask{Method: http.MethodGet, URL: key.server + "/policy/template"}, &rule); err != nil {
			return "", err
		}
	}
	var made struct {
		ID string `json:"monitor_id"`
	}
	if err := c.ask(ctx, i.Timeout, outbound.Ask{Method: http.MethodPost, URL: key.path("monitor", "new"), Body: map[string]string{"rule": rule}}, &made); err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", fault.New(fault.Unavailable, "the Invariant server has made no monitor")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.monitors) >= mostMonitors {
		clear(c.monitors)
	}
	c.monitors[key] = made.ID
	return made.ID, nil
}

// element is one element of an Invariant trace: a message, a call, or a result.
type element struct {
	Role     string         `json:"role,omitempty"`
	Content  *string        `json:"content,omitempty"`
	CallID   string         `json:"tool_call_id,omitempty"`
	ID       string         `json:"id,omitempty"`
	Type     string         `json:"type,omitempty"`
	Function map[string]any `json:"function,omitempty"`
}

// formerTools are the names that policies for OpenHands have for some tools.
var formerTools = map[string]string{"terminal": "run", "execute_bash": "run", "ipython": "run_ipython"}

// maxTrace bounds the events of a trace, in characters.
const maxTrace = 1 << 20

// traces are the events before the action, and those of the action.
func traces(about security.Case) (past, pending []element) {
	past, pending = []element{}, []element{}
	all := bounded(messages(about, len(about.History)), maxTrace)
	for i, m := range all {
		var of []element
		if m.Role != "system" && (m.Content != "" || len(m.ToolCalls) == 0) {
			of = append(of, element{Role: m.Role, Content: &m.Content, CallID: m.CallID})
		}
		for _, c := range m.ToolCalls {
			var arguments map[string]any
			if json.Unmarshal([]byte(c.Function.Arguments), &arguments) != nil {
				arguments = map[string]any{"arguments": c.Function.Arguments}
			}
			name := cmp.Or(formerTools[c.Function.Name], c.Function.Name)
			of = append(of, element{ID: c.ID, Type: c.Type, Function: map[string]any{"name": name, "arguments": arguments}})
		}
		if i == len(all)-1 {
			pending = append(pending, of...)
		} else {
			past = append(past, of...)
		}
	}
	return past, pending
}

// riskOf finds a rating in a result of an Invariant server.
var riskOf = lazyregexp.New(`risk=(low|medium|high)\b`)

// worstOf is the highest rating of the results; LOW for none.
func worstOf(results []string) security.Assessment {
	order := []event.Risk{event.RiskLow, event.RiskMedium, event.RiskHigh}
	worst, reason := 0, ""
	for _, r := range results {
		if at := slices.Index(order, event.Risk(strings.ToUpper(first(riskOf(), r)))); at >= worst {
			worst, reason = at, r
		}
	}
	return security.Rated(order[worst], reason)
}

func first(pattern *regexp.Regexp, s string) string {
	if m := pattern.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}
