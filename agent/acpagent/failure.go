package acpagent

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Codes of failures (docs/openhands/sdk-wire.md section 7).
const (
	codeSpawn   = "ACPSpawnError"
	codeStartup = "ACPStartupTimeout"
	codeInit    = "ACPInitError"
	codePrompt  = "ACPPromptError"
	codeAuth    = "ACPAuthRequired"
	codePolicy  = "UsagePolicyRefusal"
)

var (
	errClosed     = fault.New(fault.Canceled, "the conversation is being closed")
	errIncomplete = errors.New("a part of the request is missing")
)

// failure is an error as clients are told of it.
func failure(code string, err error) *agent.Failure {
	f := &agent.Failure{Code: code, Kind: "config", Action: "settings", Err: err}
	switch code {
	case codeAuth:
		f.Kind = "auth"
	case codeStartup, codePrompt:
		f.Kind, f.Action, f.Retryable = "transient", "retry", true
	case codePolicy:
		f.Kind, f.Action = "agent_action", "none"
	}
	return f
}

// failed adds the program's last words to an error.
func (p *program) failed(code string, err error) error {
	return failure(code, &saidError{err, p.words()})
}

// saidError is an error with the last words of a program.
type saidError struct {
	error
	words string
}

// Error implements error.
func (e *saidError) Error() string {
	if e.words == "" {
		return e.error.Error()
	}
	return e.error.Error() + "; it said last: " + e.words
}

// Unwrap returns the error.
func (e *saidError) Unwrap() error { return e.error }

// words is the end of the program's output beside the protocol, without secrets.
func (p *program) words() string {
	text := strings.TrimSpace(p.a.cfg.Mask(p.proc.Stderr()))
	if text == "" {
		return p.a.shortened(p.lines.last(), maxTitle)
	}
	if over := len(text) - maxTitle; over > 0 {
		text = "…" + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// promptFailed is the failure of a prompt.
func (p *program) promptFailed(err error) error {
	if p.flooding.Load() {
		p.close()
		return p.failed(codePrompt, fault.New(fault.Limit, p.a.name()+" has sent more at once than can be kept, and was ended").
			Hint("send a message to start it again"))
	}
	if p.gone() {
		p.bury()
		return p.failed(codePrompt, fault.New(fault.Unavailable, p.a.name()+" has ended in the middle of its work").
			Hint("send a message to start it again; its session is resumed if it can be"))
	}
	return p.requestFailed(codePrompt, err)
}

// lastWords is how long a program that takes no input any more has to say why.
const lastWords = 5 * time.Second

// bury ends a program that is gone. Its last words are complete then.
func (p *program) bury() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-p.conn.Done():
	case <-timer.C:
	}
	p.close()
}

// gone reports whether the program has closed the connection.
func (p *program) gone() bool {
	if p.broken.Load() {
		return true
	}
	select {
	case <-p.conn.Done():
		return true
	default:
		return false
	}
}

// authMarks are texts in errors of programs whose provider has refused a key.
var authMarks = lazyregexp.New(`(?i)\b(401|403)\b|unauthori[sz]ed|authentication|invalid.api.key|not logged in|please (log|sign) in|/login`)

// requestFailed is the failure of a request that the program has refused.
func (p *program) requestFailed(code string, err error) error {
	var refused *acp.RequestError
	if !errors.As(err, &refused) {
		return p.failed(code, fault.Wrap(err, fault.Unavailable, "ask "+p.a.name()))
	}
	said := refused.Message
	if detail := detailOf(refused.Data); detail != "" && detail != said {
		said = strings.TrimSpace(said + ": " + detail)
	}
	said = p.a.shortened(said, maxTitle)
	lower := strings.ToLower(said)
	switch {
	case refused.Code == authRequired || authMarks().MatchString(said):
		hint := "give the conversation the key that it wants as a secret"
		if known, ok := p.a.cfg.Fields.Known(); ok && known.APIKey != "" {
			hint = "give the conversation the secret " + known.APIKey + " (deft run: --secret-env " + known.APIKey + ")"
		}
		return failure(codeAuth, fault.New(fault.Auth, p.a.name()+" wants a login: "+said).Hint(hint))
	case strings.Contains(lower, "usage policy") || strings.Contains(lower, "content policy"):
		return failure(codePolicy, fault.New(fault.Content, p.a.name()+" refuses: "+said))
	}
	return failure(code, fault.New(fault.Unavailable, p.a.name()+" has failed: "+said).Hint("send a message to try again"))
}

// authRequired is the protocol's code for a missing login.
const authRequired = -32000

// detailOf is the text in the data of an error.
func detailOf(data any) string {
	switch d := data.(type) {
	case nil:
		return ""
	case string:
		return d
	case map[string]any:
		for _, name := range []string{"message", "details", "detail", "error"} {
			if text, ok := d[name].(string); ok && text != "" {
				return text
			}
		}
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return ""
	}
	return string(raw)
}

// usable reports whether the program can go on after a failure.
func (p *program) usable(err error) bool {
	var f *agent.Failure
	return !p.gone() && errors.As(err, &f) && f.Code != codeAuth && !fault.Is(err, fault.Timeout)
}

// requestError is an error as the program is told of it.
func requestError(err error) *acp.RequestError {
	e := acp.NewInternalError(nil)
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Denied, fault.NotFound, fault.Limit:
		e = acp.NewInvalidParams(nil)
	}
	e.Message = err.Error()
	if hint := fault.HintOf(err); hint != "" {
		e.Message += " (" + hint + ")"
	}
	return e
}
