package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/session"
)

// passed are the variables of the user's environment that commands get.
// Everything else is withheld, because anything may be a secret.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM",
	"GOPATH", "GOROOT", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOFLAGS", "GOTOOLCHAIN", "GOMODCACHE",
	"JAVA_HOME", "PYENV_ROOT", "PYENV_VERSION", "RUSTUP_HOME", "CARGO_HOME", "NVM_DIR", "NODE_PATH",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE",
}

// credentials finds an address with a user in it.
var credentials = lazyregexp.New(`://[^/\s]*@`)

// CommandEnv picks the variables that commands get from an environment. A value
// with a user and a password in an address (a private GOPROXY, for example) is
// withheld.
func CommandEnv(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if credentials().MatchString(value) {
			continue
		}
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			out = append(out, kv)
		}
	}
	return out
}

// environment returns the variables of a conversation's commands, and a mark of the
// conversation's own, which is "" for none. Its own variables replace others of the
// same names.
func (b *Builder) environment(ctx context.Context, r session.BuildRequest) (env []string, mark string) {
	own := slices.Clone(r.Env)
	for _, name := range r.SecretEnv {
		if value, ok := r.Secret(ctx, name); ok {
			own = append(own, name+"="+value)
		}
	}
	if len(own) == 0 {
		return b.o.Env, ""
	}
	sum := sha256.Sum256([]byte(r.ID.Hex() + "\x00" + strings.Join(own, "\x00")))
	return merged(b.o.Env, own), hex.EncodeToString(sum[:])
}

// merged returns the variables of both lists. Of those with the same name the last
// one counts.
func merged(lists ...[]string) []string {
	var out []string
	at := map[string]int{}
	for _, list := range lists {
		for _, kv := range list {
			name, _, _ := strings.Cut(kv, "=")
			if i, ok := at[name]; ok {
				out[i] = kv
				continue
			}
			at[name] = len(out)
			out = append(out, kv)
		}
	}
	return out
}
