package spec

import (
	"regexp"
	"slices"

	s "github.com/deft-dev/deft/schema"
)

// LLMExtras are the settings of an LLM that the reference does not have. They
// are in its field "deft", which the reference ignores. Times are in seconds; 0
// takes the default.
type LLMExtras struct {
	// ContextLimit and KeepAlive are for Ollama, as in llm.Config.
	ContextLimit int     `json:"context_limit,omitempty"`
	KeepAlive    float64 `json:"keep_alive,omitempty"`

	FirstTokenTimeout float64 `json:"first_token_timeout,omitempty"`
	ConnectTimeout    float64 `json:"connect_timeout,omitempty"`
	// These go before the fields of the LLM that count whole seconds.
	Timeout      float64 `json:"timeout,omitempty"`
	RetryMinWait float64 `json:"retry_min_wait,omitempty"`
	RetryMaxWait float64 `json:"retry_max_wait,omitempty"`

	// Fallback names the LLM profiles to try, in order, when this LLM fails.
	Fallback []string `json:"fallback,omitempty"`
	// Vision names the LLM profile that takes requests with images, and requests of
	// more than TextLimit tokens (0: this model's context window).
	Vision    string `json:"vision,omitempty"`
	TextLimit int    `json:"text_limit,omitempty"`
}

// extrasKey is the field of the LLM that holds LLMExtras.
const extrasKey = "deft"

// ProfileName matches names of LLM profiles and the like.
var ProfileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

var (
	zero, day      = 0.0, 24.0 * 60 * 60
	minusDay, year = -day, 365 * day

	countType   = s.Int{Bounds: s.Bounds{GE: &zero}}
	secondsType = s.Number{Bounds: s.Bounds{GE: &zero, LE: &day}}
	profileType = s.String{Pattern: ProfileName}

	extrasSchema = &s.Object{Name: "LLMExtras", Extra: s.Forbid, Compact: true, Fields: []s.Field{
		extra("context_limit", countType), extra("keep_alive", s.Number{Bounds: s.Bounds{GE: &minusDay, LE: &year}}),
		extra("first_token_timeout", secondsType), extra("connect_timeout", secondsType), extra("timeout", secondsType),
		extra("retry_min_wait", secondsType), extra("retry_max_wait", secondsType),
		extra("fallback", s.List{Of: profileType}), extra("vision", profileType), extra("text_limit", countType),
	}}
)

func extra(name string, t s.Type) s.Field { return s.Field{Name: name, Type: t, MayBeAbsent: true} }

// Extras returns the settings that the reference does not have; they are the
// caller's to change.
func (l *LLM) Extras() *LLMExtras {
	if l.Deft == nil {
		l.Deft = &LLMExtras{}
	}
	return l.Deft
}

// Profiles are the names of the LLM profiles that the LLM uses beside itself.
func (l *LLM) Profiles() []string {
	if l.Deft == nil {
		return nil
	}
	out := slices.Clone(l.Deft.Fallback)
	if l.Deft.Vision != "" {
		out = append(out, l.Deft.Vision)
	}
	return out
}
