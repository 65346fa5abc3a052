package awscred

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
)

// login writes the same files as `aws sso login`.
func (a *amazon) login(t *testing.T, key, text string) string {
	t.Helper()
	sum := sha1.Sum([]byte(key))
	return a.write(t, filepath.Join(".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json"), text)
}

// TestRenewedLogin checks that a new token is stored with all other fields of
// the file.
func TestRenewedLogin(t *testing.T) {
	t.Parallel()
	a := startAmazon(t)
	a.files(t)
	if _, err := a.chain(map[string]string{"AWS_PROFILE": "stale"}).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := readLogin(filepath.Join(a.home, ".aws"), "stale")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"accessToken": "fresh", "refreshToken": "next", "expiresAt": "2026-11-21T13:00:00Z", "startUrl": "kept",
		"clientId": "c", "clientSecret": "x", "registrationExpiresAt": "2026-11-21T13:00:00Z",
	}
	if diff := cmp.Diff(want, l.all); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	info, err := os.Stat(l.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if err != nil || len(entries) != 4 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

// TestProcess runs scripts as credential_process.
func TestProcess(t *testing.T) {
	t.Parallel()
	good := `{"Version":1,"AccessKeyId":"P","SecretAccessKey":"s","SessionToken":"t"%s}`
	for name, tt := range map[string]struct {
		script, args string
		id           string
		expires      time.Time
		kind         fault.Kind
		says         string
	}{
		"keys":     {"echo '" + strings.Replace(good, "%s", `,"Expiration":"2026-11-21T12:30:00Z"`, 1) + "'", "", "P", start.Add(30 * time.Minute), "", ""},
		"lasting":  {"echo '" + strings.Replace(good, "%s", "", 1) + "'", "", "P", start.Add(15 * time.Minute), "", ""},
		"no shell": {`[ "$2" = '$(x); a b' ] && echo '` + strings.Replace(good, "%s", "", 1) + "'", `one "$(x); a b"`, "P", start.Add(15 * time.Minute), "", ""},
		"failing":  {"echo one >&2; echo 'log in first' >&2; exit 3", "", "", time.Time{}, fault.Auth, "failed: log in first"},
		"other":    {`echo '{"Version":2}'`, "", "", time.Time{}, fault.Auth, "no JSON of version 1"},
		"empty":    {`echo '{"Version":1}'`, "", "", time.Time{}, fault.Auth, "printed no keys"},
		"too long": {"head -c 1000000 /dev/zero", "", "", time.Time{}, fault.Auth, "no JSON"},
		"open":     {"", `"`, "", time.Time{}, fault.Invalid, "a quote is not closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startAmazon(t)
			path := a.write(t, "give keys", tt.script+"\n")
			a.write(t, ".aws/config", "[default]\ncredential_process = /bin/sh '"+path+"' "+tt.args+"\n")
			got, err := a.chain(nil).Get(t.Context())
			if got.ID != tt.id || !got.Expires.Equal(tt.expires) || (err != nil || tt.kind != "") && (fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%q until %v, %v", got.ID, got.Expires, err)
			}
		})
	}
}

func TestProcessEnv(t *testing.T) {
	t.Parallel()
	got := processEnv([]string{"HOME=/h", "LLM_MODEL=m", "OPENAI_API_KEY=sk", "AWS_PROFILE=x"})
	if diff := cmp.Diff([]string{"HOME=/h", "AWS_PROFILE=x"}, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                    nil,
		" a  b\tc ":           {"a", "b", "c"},
		`a 'b c' "d e"`:       {"a", "b c", "d e"},
		`a\ b "\"\\\n" '\'`:   {"a b", `"\\n`, `\`},
		`""  ''`:              {"", ""},
		`C:\\x --k="v w"tail`: {`C:\x`, "--k=v wtail"},
	} {
		got, err := split(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{`"`, `a '`, `\`} {
		if _, err := split(text); !errors.Is(err, errQuote) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzSplit checks that quoted words are restored.
func FuzzSplit(f *testing.F) {
	f.Add("a b", `c"d`)
	f.Add(`\`, "")
	f.Fuzz(func(t *testing.T, a, b string) {
		if _, err := split(a); err != nil && !errors.Is(err, errQuote) {
			t.Error(err)
		}
		if strings.ContainsAny(a+b, "'") || a != strings.ToValidUTF8(a, "") || b != strings.ToValidUTF8(b, "") {
			return
		}
		got, err := split("'" + a + "' '" + b + "'")
		if err != nil || len(got) != 2 || got[0] != a || got[1] != b {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// FuzzSections feeds a shared file.
func FuzzSections(f *testing.F) {
	f.Add([]byte(config))
	f.Add([]byte("[\n=\n]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		named := map[string]settings{}
		sections(data, func(name string) settings { return section(named, name) })
		for name, s := range named {
			for key, value := range s {
				if key != strings.ToLower(strings.TrimSpace(key)) || value != strings.TrimSpace(value) || strings.ContainsAny(name+key+value, "\n") {
					t.Errorf("[%s] %q = %q", name, key, value)
				}
			}
		}
	})
}

// FuzzElement feeds an answer of STS, and the content of an element.
func FuzzElement(f *testing.F) {
	f.Add("<A><Code>x</Code></A>", "a & <b>")
	f.Fuzz(func(t *testing.T, text, inner string) {
		element([]byte(text), "Code")      // must not panic
		quoted, err := json.Marshal(inner) // only to have text without line ends
		if err != nil {
			t.Fatal(err)
		}
		want := string(quoted)
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(want)
		if got := element([]byte("<R><Code>"+escaped+"</Code></R>"), "Code"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
