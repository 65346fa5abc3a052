package files

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/server/rest"
)

// cookieAge is ten years; browsers shorten it.
const cookieAge = 60 * 60 * 24 * 365 * 10

// openSession gives a client that has shown its key a cookie with which a
// browser may load pages of workspaces (docs/openhands/sdk-wire.md section
// 4.2).
func openSession(w http.ResponseWriter, r *http.Request) error {
	setCookie(w, r, r.Header.Get(rest.KeyHeader), cookieAge)
	return nil
}

func closeSession(w http.ResponseWriter, r *http.Request) error {
	setCookie(w, r, "", 0)
	return nil
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	cookie := fmt.Sprintf("%s=%s; HttpOnly; Max-Age=%d; Path=/api/conversations; SameSite=none", rest.WorkspaceCookie, quoteCookie(value), age)
	if secureContext(r) {
		cookie += "; Secure; Partitioned"
	}
	w.Header().Add("Set-Cookie", cookie)
	w.WriteHeader(http.StatusNoContent)
}

// quoteCookie writes a value as the reference's library does: a token is plain,
// anything else is quoted, with octal numbers for forbidden bytes.
func quoteCookie(value string) string {
	const plain, quoted = "!#$%&'*+-.^_`|~:", " ()/<=>?@[]{}"
	token := value != ""
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(plain, c) >= 0:
			b.WriteByte(c)
			continue
		case strings.IndexByte(quoted, c) >= 0:
			b.WriteByte(c)
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
		token = false
	}
	if token {
		return b.String()
	}
	return `"` + b.String() + `"`
}

// secureContext reports whether the client's browser accepts a Secure cookie: over
// HTTPS, which a proxy may end, and on this machine. A client that lies about it
// changes its own cookie only.
func secureContext(r *http.Request) bool {
	first := func(header string) string {
		v, _, _ := strings.Cut(r.Header.Get(header), ",")
		return strings.ToLower(strings.TrimSpace(v))
	}
	scheme := first("X-Forwarded-Proto")
	if scheme == "" && r.TLS != nil {
		scheme = "https"
	}
	host := first("X-Forwarded-Host")
	if host == "" {
		host = strings.ToLower(r.Host)
	}
	if rest, ok := strings.CutPrefix(host, "["); ok {
		host, _, _ = strings.Cut(rest, "]")
	} else if strings.Count(host, ":") == 1 {
		host, _, _ = strings.Cut(host, ":")
	}
	return scheme == "https" || host == "localhost" || host == "127.0.0.1" || host == "::1"
}
