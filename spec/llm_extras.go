package spec

import (
	"encoding/json"
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
	// Vision names the LLM profile that takes requests with images, and those
	// of more than TextLimit tokens (0: this model's context window).
	Vision    string `json:"vision,omitempty"`
	TextLimit int    `json:"text_limit,omitempty"`
}

// extrasKey is the field of the LLM that holds LLMExtras.
const extrasKey = "deft"

// ProfileName is what LLM profiles and the like may be called.
var ProfileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

var (
	extrasSchema = &s.Object{Name: "LLMExtras", Extra: s.Forbid, Compact: true, Fields: extrasFields()}
	zero, day    = 0.0, 24.0 * 60 * 60
	year         = 365 * day
	minusDay     = -day
)

func extrasFields() []s.Field {
	count := s.Int{Bounds: s.Bounds{GE: &zero}}
	seconds := s.Number{Bounds: s.Bounds{GE: &zero, LE: &day}}
	name := s.String{Pattern: ProfileName}
	types := map[string]s.Type{
		"context_limit": count, "text_limit": count, "keep_alive": s.Number{Bounds: s.Bounds{GE: &minusDay, LE: &year}},
		"first_token_timeout": seconds, "connect_timeout": seconds, "timeout": seconds, "retry_min_wait": seconds, "retry_max_wait": seconds,
		"fallback": s.List{Of: name}, "vision": name,
	}
	var fields []s.Field
	for _, key := range []string{
		"context_limit", "keep_alive", "first_token_timeout", "connect_timeout", "timeout", "retry_min_wait", "retry_max_wait",
		"fallback", "vision", "text_limit",
	} {
		fields = append(fields, s.Field{Name: key, Type: types[key], MayBeAbsent: true})
	}
	return fields
}

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

// extrasDoc returns the extras as a document, nil if nothing is set.
func (l *LLM) extrasDoc() (*s.Map, error) {
	if l.Deft == nil {
		return nil, nil
	}
	raw, err := json.Marshal(l.Deft)
	if err != nil {
		return nil, err
	}
	v, err := s.Parse(raw)
	if m, _ := v.(*s.Map); m.Len() > 0 {
		return m, err
	}
	return nil, err
}
