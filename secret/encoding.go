package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

const (
	// encodedMin is how many bytes a value or a part of one must have so that
	// its encodings are masked: shorter ones would hit innocent text.
	encodedMin = 8
	// encodedMax is up to how many bytes the encodings are worth their memory.
	encodedMax = 16 << 10
	// lineMin is how many bytes a line of a longer value must have to be
	// masked alone. Lines of key files have 64.
	lineMin = 24
)

// matcherOf makes the matcher of values.
func matcherOf(values []string) *matcher {
	const line = 60 // bytes, in which programs fold encodings
	var patterns, long, bare, folded []string
	for _, v := range values {
		all := encodings(v)
		patterns = append(patterns, all...)
		if len(all) == 0 || len(all[1]) < encodedMin || len(all[1]) > encodedMax {
			continue
		}
		long = append(long, all[1])
		long = append(append(long, latin1(all[1])), inBase64(all[1])...)
		folded = append(folded, inBase64(all[1])...) // a line may end in them where more is encoded
		if stripped := unquoted.Replace(all[1]); stripped != all[1] && len(stripped) >= encodedMin {
			bare = append(bare, stripped)
		}
		for _, one := range all {
			if len(one) > line && !strings.ContainsAny(one, "\r\n") {
				folded = append(folded, one)
			}
		}
	}
	m := newMatcher(patterns)
	for to, some := range map[**matcher][]string{&m.long: long, &m.bare: bare, &m.folded: folded} {
		if len(some) > 0 {
			*to = newMatcher(some)
		}
	}
	return m
}

// latin1 is a value as escapes of bytes read that mean characters, as Python's; "" where it
// has others.
func latin1(v string) string {
	var b strings.Builder
	for _, c := range v {
		if c > 0xff {
			return ""
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

// unquoted removes the quotes of shells.
var unquoted = strings.NewReplacer(`'`, "", `"`, "", `\`, "")

// encodings returns the texts that may show a value, the value first. A value
// of spaces has none.
func encodings(value string) []string {
	bare := strings.TrimSpace(value)
	if bare == "" {
		return nil
	}
	all := []string{value, bare}
	if len(bare) > encodedMax {
		return all
	}
	if strings.Contains(bare, "\n") {
		all = append(all, strings.ReplaceAll(strings.ReplaceAll(bare, "\r\n", "\n"), "\n", "\r\n"))
		for line := range strings.SplitSeq(bare, "\n") {
			line = strings.TrimSpace(line)
			if len(line) >= lineMin && !strings.ContainsAny(line, " \t") {
				all = append(all, line)
			}
		}
	}
	all = append(all, escaped(bare)...)
	if len(bare) >= encodedMin {
		all = append(all, hex.EncodeToString([]byte(bare)), strings.ToUpper(hex.EncodeToString([]byte(bare))))
		all = append(all, inBase64(bare)...)
	}
	return all
}

// forShell and its like are how programs print a value for a shell: in single
// quotes, in double quotes (declare -p), with backslashes (printf %q), and in
// ANSI-C quotes (set -x).
var (
	forSingle = strings.NewReplacer(`'`, `'\''`)
	forDouble = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
	forAnsiC  = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
)

func escaped(v string) []string {
	all := []string{
		forSingle.Replace(v), forDouble.Replace(v), forAnsiC.Replace(v), backslashed(v),
		url.QueryEscape(v), url.PathEscape(v),
	}
	plain := appendText(nil, v)
	all = append(all, string(plain[1:len(plain)-1]))
	if html, err := json.Marshal(v); err == nil {
		all = append(all, string(html[1:len(html)-1]))
	}
	return all
}

// backslashed puts a backslash in front of every character that a shell would not
// read as a letter, as printf %q does.
func backslashed(v string) string {
	var b strings.Builder
	for _, c := range []byte(v) {
		if strings.IndexByte(" \t!\"#$&'()*;<>?[\\]^`{|}~,", c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// inBase64 returns the part of a value's base64 that does not depend on the text
// around it, for the three ways it may lie in groups of three bytes.
func inBase64(v string) []string {
	var all []string
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), v...))
		from := (before*8 + 5) / 6
		to := (before + len(v)) * 8 / 6
		if to-from < encodedMin {
			continue
		}
		std := text[from:to]
		all = append(all, std, strings.NewReplacer("+", "-", "/", "_").Replace(std))
	}
	return all
}
