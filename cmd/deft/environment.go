package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/agent/codeact"
)

// passed are the variables of the user's environment that commands in the
// sandbox get. Everything else stays outside, because anything may be a
// secret.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM",
	"GOPATH", "GOROOT", "GOPROXY", "GONOSUMDB", "GOFLAGS", "GOTOOLCHAIN", "GOMODCACHE",
	"JAVA_HOME", "PYENV_ROOT", "PYENV_VERSION", "RUSTUP_HOME", "CARGO_HOME", "NVM_DIR", "NODE_PATH",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE",
}

// credentials finds an address with a user in it.
var credentials = regexp.MustCompile(`://[^/\s]*@`)

// commandEnv picks the variables that commands get. A value with a user and a
// password in an address (a private GOPROXY, for example) stays outside.
func commandEnv(environ []string) []string {
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

// maxRepoFile is how much of AGENTS.md goes into the prompt.
const maxRepoFile = 32 << 10

// repoContext reads the workspace's notes for agents. The file is hostile: it
// must be a regular file in the workspace itself, not a link to elsewhere.
func repoContext(workspace string) []codeact.RepoFile {
	for _, name := range []string{"AGENTS.md", "AGENT.md", "CLAUDE.md"} {
		f, err := os.OpenFile(filepath.Join(workspace, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(f, maxRepoFile))
		if err != nil {
			continue
		}
		if text := strings.TrimSpace(strings.ToValidUTF8(string(b), "")); text != "" {
			return []codeact.RepoFile{{Name: name, Text: text}}
		}
	}
	return nil
}
