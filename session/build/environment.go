package build

import (
	"regexp"
	"slices"
	"strings"
)

// passed are the variables of the user's environment that commands get.
// Everything else is withheld, because anything may be a secret.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM",
	"GOPATH", "GOROOT", "GOPROXY", "GONOSUMDB", "GOFLAGS", "GOTOOLCHAIN", "GOMODCACHE",
	"JAVA_HOME", "PYENV_ROOT", "PYENV_VERSION", "RUSTUP_HOME", "CARGO_HOME", "NVM_DIR", "NODE_PATH",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE",
}

// credentials finds an address with a user in it.
var credentials = regexp.MustCompile(`://[^/\s]*@`)

// CommandEnv picks the variables that commands get from an environment. A value
// with a user and a password in an address (a private GOPROXY, for example) is
// withheld.
func CommandEnv(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if credentials.MatchString(value) {
			continue
		}
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			out = append(out, kv)
		}
	}
	return out
}
