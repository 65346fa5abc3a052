package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/secret"
)

// knowing returns a registry that knows values.
func knowing(values ...string) *secret.Registry {
	r := secret.NewRegistry(secret.Options{})
	r.Track(values...)
	return r
}

func TestMask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		values   []string
		in, want string
	}{
		"none":         {nil, "abc", "abc"},
		"absent":       {[]string{"xyz"}, "abc", "abc"},
		"one":          {[]string{"b"}, "abcb", "a#c#"},
		"empty":        {[]string{"", " ", "\n"}, "a b\n", "a b\n"},
		"next to":      {[]string{"ab"}, "ababab", "###"},
		"longer first": {[]string{"tok", "token-1"}, "token-1 token tok-", "# #en #-"},
		"overlap":      {[]string{"abcd", "cdef"}, "xabcdefx", "x#x"},
		"inside":       {[]string{"bc", "abcd"}, "abcd bc abc", "# # a#"},
		"bridged":      {[]string{"ab", "bc", "abcde"}, "abc abcd abcde", "# #d #"},
		"line ends":    {[]string{"abc\n"}, "=abc=", "=#="},
		"unicode":      {[]string{"schlüssel"}, "der schlüssel", "der #"},
		"masked":       {[]string{"secret", "n>", "z<s"}, "secret " + secret.Hidden + " z" + secret.Hidden, "# # #-hidden>"},
		"false starts": {[]string{"aab"}, "aaaab aaa", "aa# aaa"},
	} {
		got := strings.ReplaceAll(knowing(tt.values...).Mask(tt.in), secret.Hidden, "#")
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestEncodings masks common programs' encodings of a value.
func TestEncodings(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("bash is missing")
		}
		t.Skip("bash is missing")
	}
	const value = "p'a$s \"w\\o`r&d+/=\tend"
	r := knowing(value)
	shown := map[string]string{
		"hex":         hex.EncodeToString([]byte(value)),
		"HEX":         strings.ToUpper(hex.EncodeToString([]byte(value))),
		"query":       url.QueryEscape(value),
		"path":        url.PathEscape(value),
		"user:base64": base64.StdEncoding.EncodeToString([]byte("user:" + value)),
	}
	for i := range 4 { // whatever surrounds it
		text := strings.Repeat("x", i) + value + strings.Repeat("y", i)
		shown["base64 "+strings.Repeat("x", i)] = base64.StdEncoding.EncodeToString([]byte(text))
		shown["url64 "+strings.Repeat("x", i)] = base64.RawURLEncoding.EncodeToString([]byte(text))
	}
	b, _ := json.Marshal(value)
	shown["json"] = string(b)
	for name, script := range map[string]string{
		"printf %q": `printf %q "$1"`, "set -x": `set -x; : "$1"`, "declare -p": `x=$1; declare -p x`, "@Q": `echo "${1@Q}"`,
	} {
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "{ "+script+"; } 2>&1", "bash", value).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		shown[name] = string(out)
	}
	for name, text := range shown {
		got := r.Mask(text)
		if !strings.Contains(got, secret.Hidden) || len(got)-len(secret.Hidden) > len(text)/4+20 {
			t.Errorf("%s: %q becomes %q", name, text, got)
		}
	}
	key := "-----BEGIN KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 2) + "\nshort\n-----END KEY-----\n"
	r = knowing(key)
	for _, text := range []string{key, strings.ReplaceAll(key, "\n", "\r\n"), "+" + strings.Split(key, "\n")[1]} {
		if got := r.Mask(text); strings.Contains(got, "MIIE") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestMaskProperty compares with the plain way to do it.
func TestMaskProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[abc]{1,6}`), 1, 6).Draw(t, "values")
		text := rapid.StringMatching(`[abcd]{0,40}`).Draw(t, "text")
		covered := make([]bool, len(text))
		starts := make([]bool, len(text)+1)
		for _, v := range values {
			for i := range text {
				if strings.HasPrefix(text[i:], v) {
					for j := range v {
						covered[i+j] = true
					}
				}
			}
		}
		// A new mask begins where no occurrence reaches across.
		for i := range text {
			starts[i] = covered[i] && (i == 0 || !covered[i-1] || !spanned(text, values, i))
		}
		var want strings.Builder
		for i, c := range []byte(text) {
			switch {
			case starts[i]:
				want.WriteByte('#')
			case !covered[i]:
				want.WriteByte(c)
			}
		}
		r := knowing(values...)
		if got := strings.ReplaceAll(r.Mask(text), secret.Hidden, "#"); got != want.String() {
			t.Fatalf("%q without %q: got %q, want %q", text, values, got, want.String())
		}
		// In pieces it is the same, and nothing is shown too early.
		s := r.Stream()
		var pieces strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces.WriteString(s.Feed(rest[:n]))
			rest = rest[n:]
		}
		pieces.WriteString(s.Flush())
		if got := strings.ReplaceAll(pieces.String(), secret.Hidden, "#"); got != want.String() {
			t.Fatalf("in pieces, %q without %q: got %q, want %q", text, values, got, want.String())
		}
	})
}

// spanned reports whether a value lies across the border before i.
func spanned(text string, values []string, i int) bool {
	for _, v := range values {
		for from := max(0, i-len(v)+1); from < i; from++ {
			if strings.HasPrefix(text[from:], v) {
				return true
			}
		}
	}
	return false
}

// TestStream holds back text that may become a secret, and nothing else.
func TestStream(t *testing.T) {
	t.Parallel()
	r := knowing("secret", "secret-two")
	s := r.Stream()
	for _, step := range []struct{ in, want string }{
		{"plain text", "plain text"}, {"", ""}, {" se", " "}, {"t", "set"}, {" secre", " "}, {"t", ""}, {"!", "#!"},
		{"secret-tw", ""}, {"o", "#"}, {"secret", ""}, {"-x", "#-x"}, {"sssec", "ss"}, {"x", "secx"},
	} {
		if got := strings.ReplaceAll(s.Feed(step.in), secret.Hidden, "#"); got != step.want {
			t.Errorf("%q: got %q, want %q", step.in, got, step.want)
		}
	}
	if got := s.Feed("x secret") + s.Flush() + s.Flush(); got != "x "+secret.Hidden {
		t.Errorf("flushed %q", got)
	}
	if got := s.Feed("end sec") + s.Flush(); got != "end sec" {
		t.Errorf("flushed %q", got)
	}
	r.Track("later") // known from the next piece on
	if got := s.Feed("lat") + s.Feed("er."); got != secret.Hidden+"." {
		t.Errorf("got %q", got)
	}
	none := secret.NewRegistry(secret.Options{}).Stream()
	if got := none.Feed("a") + none.Flush(); got != "a" {
		t.Errorf("without secrets: %q", got)
	}
}

func text(s string) event.ObservationBase { return event.ObservationBase{Content: event.Texts(s)} }

func TestMaskObservation(t *testing.T) {
	t.Parallel()
	const png = "data:image/png;base64,aGlkZGVu" // the value in base64
	r := knowing("hidden", `q"uo`)
	terminal := &event.TerminalObservation{ObservationBase: text("a hidden\n\"q\"uo\" é"), Command: new("echo hidden")}
	got, ok := r.MaskObservation(terminal).(*event.TerminalObservation)
	if !ok || event.JoinText(got.Content) != "a "+secret.Hidden+"\n\""+secret.Hidden+"\" é" || *got.Command != "echo "+secret.Hidden {
		t.Errorf("terminal: %+v", got)
	}
	if *terminal.Command != "echo hidden" {
		t.Error("the observation was changed in place")
	}
	clean := &event.TerminalObservation{ObservationBase: text("nothing")}
	if r.MaskObservation(clean) != event.Observation(clean) {
		t.Error("a clean observation is another one")
	}
	if r.MaskObservation(nil) != nil {
		t.Error("nothing becomes something")
	}
	raw := `{"content":[{"type":"text","text":"hidden"},{"type":"image","image_urls":["` + png + `","http://x/hidden"]}],` +
		`"deep":{"list":["a",{"k":"hidden","hidden":1}],"image_urls":["data:hidden"]},"screenshot_data":"aGlkZGVu hidden","kind":"HiddenObservation"}`
	unknown, err := event.UnmarshalObservation([]byte(raw))
	must.Succeed(t, err)
	masked, err := event.MarshalObservation(r.MaskObservation(unknown))
	want := `{"content":[{"type":"text","text":"#"},{"type":"image","image_urls":["` + png + `","http://x/#"]}],` +
		`"deep":{"list":["a",{"k":"#","hidden":1}],"image_urls":["data:#"]},"screenshot_data":"aGlkZGVu hidden","kind":"HiddenObservation"}`
	if diff := cmp.Diff(want, strings.ReplaceAll(string(masked), secret.Hidden, "#")); diff != "" || err != nil {
		t.Errorf("unknown kind: %v (-want +got):\n%s", err, diff)
	}
}

// TestUnusualSecrets masks values that are words of the vocabulary, and the
// result can still be read.
func TestUnusualSecrets(t *testing.T) {
	t.Parallel()
	r := knowing("text", "a", "agent", "TerminalObservation", "1", "success", "e", "{", `"`, ":")
	for _, o := range []event.Observation{
		&event.TerminalObservation{ObservationBase: text("text a 1")},
		&event.FileEditorObservation{ObservationBase: text("agent")},
	} {
		got := r.MaskObservation(o)
		if got.Kind() != o.Kind() {
			t.Errorf("%s becomes %T", o.Kind(), got)
		}
		raw, err := event.MarshalObservation(got)
		if err != nil || !json.Valid(raw) {
			t.Errorf("%s: %s, %v", o.Kind(), raw, err)
		}
	}
}

func TestMaskEvent(t *testing.T) {
	t.Parallel()
	r := knowing("hidden")
	user := event.NewUserMessage("my hidden wish")
	agent := event.NewUserMessage("the hidden answer")
	agent.Source, agent.LLMMessage.Role = event.SourceAgent, "assistant"
	agent.ID = "id-hidden"
	if r.MaskEvent(user) != event.Event(user) {
		t.Error("the user's message is masked")
	}
	got := r.MaskEvent(agent).(*event.MessageEvent)
	if event.JoinText(got.LLMMessage.Content) != "the "+secret.Hidden+" answer" || got.ID != "id-hidden" || got.Timestamp != agent.Timestamp {
		t.Errorf("agent: %+v", got)
	}
	analysis := &event.SecurityAnalysisEvent{
		Base: event.NewBase(event.SourceEnvironment), Analyzer: "A", Policy: "P",
		Risks:   event.Map[event.Risk]{"hidden-1": event.RiskHigh},
		Details: event.Map[json.RawMessage]{"hidden-1": json.RawMessage(`{"error":"no hidden"}`)},
	}
	masked := r.MaskEvent(analysis).(*event.SecurityAnalysisEvent)
	if string(masked.Details["hidden-1"]) != `{"error":"no `+secret.Hidden+`"}` || masked.Risks["hidden-1"] != event.RiskHigh {
		t.Errorf("analysis: %+v", masked)
	}
	obs := &event.ObservationEvent{Base: event.NewBase(event.SourceEnvironment), ToolName: "hidden",
		Observation: &event.TerminalObservation{ObservationBase: text("hidden")}}
	seen := r.MaskEvent(obs).(*event.ObservationEvent)
	if o, ok := seen.Observation.(*event.TerminalObservation); !ok || event.JoinText(o.Content) != secret.Hidden || seen.ToolName != "hidden" {
		t.Errorf("observation: %+v", seen)
	}
}

func FuzzMaskJSON(f *testing.F) {
	for _, s := range []string{`{"a":["hidden\u0000",{"image_urls":["data:;base64,hidden"]}],"kind":"hidden"}`, `"hi\u0064den"`, `[[[]]]`, `{"a":{},"b":"\\"}`} {
		f.Add([]byte(s))
	}
	r := knowing("hidden", `x"y`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := r.MaskJSON(raw)
		if json.Valid(raw) != json.Valid(got) {
			t.Fatalf("%q becomes %q", raw, got)
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add("hidden", "a hidden b", 3)
	f.Fuzz(func(t *testing.T, value, text string, n int) {
		r := knowing(value, "hidden", "hid")
		s := r.Stream()
		got := ""
		for n = max(n, 1); text != ""; {
			cut := min(n, len(text))
			got += s.Feed(text[:cut])
			text = text[cut:]
		}
		got += s.Flush()
		if strings.Contains(strings.ReplaceAll(got, secret.Hidden, "\x00"), "hidden") {
			t.Fatalf("shown: %q", got)
		}
	})
}

// TestTrackKeys masks keys of services, but no placeholders.
func TestTrackKeys(t *testing.T) {
	t.Parallel()
	r := secret.NewRegistry(secret.Options{})
	r.TrackKeys("x", " none ", "sk-12345")
	if got := r.Mask("an example, none of sk-12345"); got != "an example, none of "+secret.Hidden {
		t.Errorf("%q", got)
	}
}
