package gitview

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

var (
	// userinfo is the part before the host of a URL.
	userinfo = lazyregexp.New(`(?i)([a-z][a-z0-9+.-]*://)([^/?#\s]*)@`)
	// shortUser is a user with a password in the short form of an SSH address.
	shortUser = lazyregexp.New(`^[^/:@\s]+:[^/\s]+@`)
	params    = lazyregexp.New(`([?&#])([^=&#\s]+)=([^&#\s]+)`)
)

// redact masks credentials in the URLs of a text and changes nothing else: users and
// passwords, but for a user alone of another protocol than HTTP, and parameters with
// the names of secrets.
func redact(text string) string {
	text = shortUser().ReplaceAllString(text, "****@")
	if !strings.Contains(text, "://") {
		return text
	}
	text = userinfo().ReplaceAllStringFunc(text, func(found string) string {
		parts := userinfo().FindStringSubmatch(found)
		if !strings.Contains(parts[2], ":") && !strings.HasPrefix(strings.ToLower(parts[1]), "http") {
			return found
		}
		return parts[1] + "****@"
	})
	return params().ReplaceAllStringFunc(text, func(found string) string {
		parts := params().FindStringSubmatch(found)
		if !secretName(parts[2]) {
			return found
		}
		return parts[1] + parts[2] + "=%3Credacted%3E"
	})
}

// secretNames are parts of the names of parameters that hold secrets, as in the
// reference, and of the parameters of signed URLs.
var secretNames = []string{"authorization", "cookie", "credential", "key", "password", "passwd", "pwd", "secret", "session", "signature", "token"}

func secretName(name string) bool {
	name = strings.ToLower(name)
	return name == "sig" || slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}
