package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"mime/quotedprintable"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deft-dev/deft/secret"
)

// ways write a value as programs do.
func ways(t testing.TB, v string) map[string]string {
	each := func(format string) string {
		var b strings.Builder
		for i := range len(v) {
			fmt.Fprintf(&b, format, v[i])
		}
		return b.String()
	}
	runes := func(format string) string {
		var b strings.Builder
		for _, c := range v {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	printable := new(strings.Builder)
	w := quotedprintable.NewWriter(printable)
	if _, err := w.Write([]byte(strings.Repeat(".", 66) + v)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	fold := func(text string) string {
		for i := 76; i < len(text); i += 77 {
			text = text[:i] + "\n" + text[i:]
		}
		return text
	}
	folded := fold(base64.StdEncoding.EncodeToString([]byte(v)))
	within := fold(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(".", 50) + v)))
	all := map[string]string{
		"json":    strings.Trim(fmt.Sprintf("%+q", v), `"`),
		"percent": each("%%%02X"), "percent, small": each("%%%02x"), "percent, some": strings.ToLower(url.QueryEscape(v[:4])) + url.PathEscape(v[4:]),
		"html": html.EscapeString(v), "html, decimal": runes("&#%d;"), "html, hexadecimal": runes("&#x%X;"),
		"shell": strings.ReplaceAll(v, "'", `'"'"'`), "shell, backslash": strings.ReplaceAll(v, "'", `'\''`),
		"c": each(`\x%02x`), "octal": each(`\%03o`), "spaced": each("%02x "), "colons": each("%02X:"), "go": each("0x%02x, "), "lines": each("%02x\n"),
		"quoted-printable": strings.TrimSuffix(printable.String(), "=\r\n"), "each quoted": each("=%02X"), "folded base64": folded, "folded within": within,
	}
	for name, command := range map[string][]string{
		"xxd": {"xxd"}, "xxd -p": {"xxd", "-p"}, "xxd -g1": {"xxd", "-g1"}, "hexdump": {"hexdump", "-C"}, "od": {"od", "-An", "-v", "-tx1"}, "od with offsets": {"od", "-v", "-tx1"},
		"base64": {"base64"}, "printf": {"bash", "-c", `printf %q "$(cat)"`}, "printf, C": {"bash", "-c", `LC_ALL=C printf %q "$(cat)"`},
		"python": {"python3", "-c", "import sys,shlex;print(shlex.quote(sys.stdin.read()))"}, "repr": {"python3", "-c", "import sys;print(ascii(sys.stdin.read()), sys.stdin.buffer.read())"},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Stdin = strings.NewReader(v)
		if out, err := cmd.Output(); err == nil { // it is there
			all[name] = string(out)
		}
	}
	written := func(text string) string {
		raw, err := json.Marshal(text) // it writes \u0026
		if err != nil {
			t.Fatal(err)
		}
		return strings.Trim(string(raw), `"`)
	}
	for _, name := range []string{"shell", "shell, backslash", "printf, C", "json"} { // a command in a call, in a log, on a page
		if text, ok := all[name]; ok {
			all["call with "+name] = written(text)
			all["log with "+name] = written(written(text))
			all["log of logs with "+name] = written(written(written(text)))
			all["page with "+name] = html.EscapeString(written(text))
			all["address with "+name] = url.PathEscape(written(text))
		}
	}
	return all
}

// TestWays: a value is masked however a program writes it, and in pieces of any length.
func TestWays(t *testing.T) {
	t.Parallel()
	for _, v := range []string{`tokval-"a'b&c-PLAIN77`, "it's a schlüssel, 4711!", `q"u'o\te$d & <b> 100%=`, "plain-hush-4711-and-a-long-rest-that-fills-lines-of-dumps-and-of-base64-0123456789", "日本語のパスワード🔑"} {
		r := knowing(v)
		all := ways(t, v)
		if len(all) < 19 {
			t.Fatal(len(all))
		}
		for name, text := range all {
			for _, around := range []string{"%s", "before %s after\n", "$ x\n%s\n", "$ x " + secret.Hidden + "\n%s\n"} { // the last was masked before
				whole := fmt.Sprintf(around, text)
				if strings.Contains(around, "before") && (strings.HasPrefix(name, "od") || strings.HasPrefix(name, "xxd") || name == "hexdump") {
					continue // they begin lines
				}
				got := r.Mask(whole)
				left := strings.TrimSpace(strings.ReplaceAll(strings.NewReplacer(".", "", "Li4u", "", "before", "", "after", "", "$ x", "", secret.Hidden, "").Replace(got), "\n", ""))
				if !strings.Contains(got, secret.Hidden) || len(left) > max(60, len(text)/8) && name != "repr" {
					t.Errorf("%s of %s: %q becomes %q", name, v, whole, got)
				}
				for _, size := range []int{1, 5, 64} {
					s := r.Stream()
					shown := ""
					for i := 0; i < len(whole); i += size {
						shown += s.Feed(whole[i:min(len(whole), i+size)])
					}
					if shown += s.Flush(); !strings.Contains(shown, secret.Hidden) {
						t.Errorf("%s of %s in pieces of %d: %q", name, v, size, shown)
					}
				}
			}
		}
	}
}

// TestInnocentTexts: text without a value stays as it is.
func TestInnocentTexts(t *testing.T) {
	t.Parallel()
	r := knowing("plain-hush-4711", "it's a schlüssel", "12345678")
	for _, text := range []string{
		"100% of a\\b & c = d", "00000000: 6865 6c6c 6f20 776f 726c 640a                 hello world.\n00000010: 41\n", "&amp;&#60;&nosuch;&", `\u00`, "%", "%4", "=\n", `\`, "0x", "deadbeef cafe babe",
		"31 32 33 34 35 36 37", strings.Repeat("0", 100), "a1b2c3d4e5f6 " + strings.Repeat("ab:cd ", 50),
	} {
		s := r.Stream()
		if got := r.Mask(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
		if got := s.Feed(text) + s.Flush(); got != text {
			t.Errorf("%q is streamed as %q", text, got)
		}
	}
	if s := r.Stream(); s.Feed("Password: ") != "Password: " {
		t.Error("an ordinary text is held back")
	}
}

// TestViewsKeepText: whatever a text is, masking returns it but for the masked parts.
func TestViewsKeepText(t *testing.T) {
	t.Parallel()
	r := knowing("plain-hush-4711", "it's a schlüssel")
	parts := rapid.SliceOf(rapid.SampledFrom([]string{
		"%70", `\u0070`, "&#112;", "=70", "70 ", "70", "6c 61 69 6e ", "00000010: ", "\n", "p", "lain-hush-4711", `'"'"'`, "it", "s a schl", `\303`, `\274`, "ü", "=\n", "&", `\`, "%", "\xff", "0x",
	}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(parts.Draw(t, "parts"), "")
		got := r.Mask(text)
		rest := text
		for i, kept := range strings.Split(got, secret.Hidden) {
			at := strings.Index(rest, kept)
			if at < 0 || i == 0 && at > 0 {
				t.Fatalf("%q becomes %q", text, got)
			}
			rest = rest[at+len(kept):]
		}
		s := r.Stream()
		streamed := ""
		for i := range len(text) {
			streamed += s.Feed(text[i : i+1])
		}
		streamed += s.Flush()
		if !strings.Contains(got, secret.Hidden) && streamed != text {
			t.Fatalf("%q is streamed as %q", text, streamed)
		}
	})
}
