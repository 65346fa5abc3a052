// Package gitfetch brings repositories to this machine with Git: it runs nothing
// that a repository, its URL, or a configuration that an agent could write names,
// and bounds memory, disk and time.
//
// # Usage
//
//	commit, err := gitfetch.Clone(ctx, dir, gitfetch.Source{URL: url, Branch: "main", Token: token})
//	err = gitfetch.Run(ctx, out, dir, nil, "rev-parse", "HEAD")
//
// Hooks, submodules, filters, file system monitors, credential helpers and transports
// that run programs (ext::) have no effect.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use on different directories. Errors have Git's
// text, without credentials. Clone leaves nothing behind when it fails.
package gitfetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/internal/spawn"
)

// Bounds of a repository: some hundred bytes can name any number of files.
const (
	maxCheckoutFiles = 200_000 // and directories
	maxCheckoutBytes = 2 << 30
	maxPackBytes     = 1 << 30
)

// cloneTime is how long a clone may take.
const cloneTime = 10 * time.Minute

var (
	scheme = lazyregexp.New(`^(https?|ssh|git|file)://[^-]`)
	scp    = lazyregexp.New(`^[A-Za-z0-9_.][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^-:]`)
	// aRef matches names of branches, tags or commits: never an option.
	aRef = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_./@+#-]*$`)
)

// maxRef bounds the length of a reference.
const maxRef = 255

// IsURL reports whether a source is fetched with Git. Transports that run programs
// (ext::) are refused.
func IsURL(source string) bool { return scheme().MatchString(source) || scp().MatchString(source) }

// IsRef reports whether a text may name a branch, tag or commit.
func IsRef(ref string) bool { return len(ref) <= maxRef && aRef().MatchString(ref) }

// RepositoryName returns the directory name of a repository at a URL.
func RepositoryName(url string) string {
	name := strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	if i := strings.LastIndexAny(name, "/:"); i >= 0 {
		name = name[i+1:]
	}
	name = path.Base("/" + name)
	if name == "/" || name == "." || strings.HasPrefix(name, ".") {
		return "repository"
	}
	return name
}

// Source is a repository to clone.
type Source struct {
	URL    string
	Branch string // the default branch if empty
	// Token is sent to the URL's host over HTTP, with User ("x-access-token" if
	// empty). It is in no argument and is not kept in the clone.
	User, Token string
	// Name and Email belong to commits in the clone; "" for Git's own settings.
	Name, Email string
	// Shallow leaves out the history before the commit that is checked out.
	Shallow bool
}

// Clone clones a repository into a directory that does not exist
// or is empty, and returns the commit that is checked out. A branch that does not
// exist is NotFound, a refused token Auth, a host that does not answer Unavailable, one
// that users' URLs may not name Denied.
func Clone(ctx context.Context, dir string, from Source) (commit string, err error) {
	if !IsURL(from.URL) {
		return "", fault.New(fault.Invalid, "not the URL of a repository: "+WithoutCredentials(from.URL))
	}
	if from.Branch != "" && !IsRef(from.Branch) {
		return "", fault.New(fault.Invalid, fmt.Sprintf("%q cannot be the name of a branch", from.Branch))
	}
	ctx, cancel := context.WithTimeout(ctx, cloneTime)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fault.Wrap(err, fault.Denied, "make the directory of the repository")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return "", fault.New(fault.Conflict, "the directory "+dir+" is not empty").Because(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	args := []string{"clone", "--quiet", "--template=", "--no-recurse-submodules", "--no-checkout"}
	if from.Branch != "" {
		args = append(args, "--branch", from.Branch)
	}
	if from.Shallow {
		args = append(args, "--depth=1", "--no-tags")
	}
	for _, set := range [][2]string{{"user.name", from.Name}, {"user.email", from.Email}} {
		if set[1] != "" {
			args = append(args, "--config", set[0]+"="+set[1])
		}
	}
	env, err := from.environ(ctx)
	if err != nil {
		return "", err
	}
	if err := Run(ctx, io.Discard, dir, env, append(args, "--", from.URL, ".")...); err != nil {
		return "", explain(err, from)
	}
	var out bytes.Buffer
	if err := Run(ctx, &out, dir, nil, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return "", nil // an empty repository has no commit
	}
	size := gitlimit.Checkout{MaxFiles: maxCheckoutFiles, MaxBytes: maxCheckoutBytes}
	if err := Run(ctx, &size, dir, nil, gitlimit.ListTree("HEAD")...); size.Err() != nil {
		return "", fault.Wrap(size.Err(), fault.Invalid, "check out the repository")
	} else if err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), Run(ctx, io.Discard, dir, nil, "checkout", "--quiet", "--force")
}

// environ returns the variables that give Git the token, for the URL's host only, and the
// addresses that it may connect to.
func (s Source) environ(ctx context.Context) ([]string, error) {
	if s.Token == "" {
		return Environ(ctx, s.URL)
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the address of the repository cannot be read")
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return Environ(ctx, s.URL) // ssh has keys of its own
	}
	user := s.User
	if user == "" {
		user = "x-access-token"
	}
	if strings.ContainsAny(user+s.Token, "\r\n\x00") {
		return nil, fault.New(fault.Invalid, "the token of the repository's host has a line break")
	}
	header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+s.Token))
	return pinned(ctx, s.URL, "http."+u.Scheme+"://"+u.Host+"/.extraHeader", header)
}

// Environ returns variables for [Run] with which Git connects for a URL only where users'
// URLs may lead (package outbound); Denied if it may not at all.
func Environ(ctx context.Context, from string) ([]string, error) { return pinned(ctx, from) }

// sshCommand is the SSH that Git starts.
const sshCommand = "ssh -oBatchMode=yes"

// pinned returns variables, with further settings, that keep Git at the addresses that were
// judged: it resolves names itself, and would follow a redirect to any host.
func pinned(ctx context.Context, from string, more ...string) ([]string, error) {
	set := append([]string{"fetch.unpackLimit", "1"}, more...) // fetched objects stay in one pack, which File bounds
	if !outbound.Restricted() {
		return gitlimit.Environ(append(set, "http.followRedirects", "initial")...), nil
	}
	host, port, err := server(from)
	if err != nil {
		return nil, err
	}
	found, err := outbound.Resolve(ctx, host, port)
	if err != nil {
		return nil, err
	}
	set, ssh := append(set, "http.followRedirects", "false"), sshCommand
	if len(found) > 0 {
		ssh += " -oHostKeyAlias=" + host + " -oHostName=" + found[0].Unmap().String()
	}
	if _, err := netip.ParseAddr(host); err != nil && len(found) > 0 {
		var all []string
		for _, a := range found {
			text := a.Unmap().String()
			if a.Unmap().Is6() {
				text = "[" + text + "]"
			}
			all = append(all, text)
		}
		set = append(set, "http.curloptResolve", host+":"+port+":"+strings.Join(all, ","))
	}
	return append(gitlimit.Environ(set...), "GIT_SSH_COMMAND="+ssh), nil
}

// aHost matches names and addresses of hosts that every program reads alike.
var aHost = lazyregexp.New(`^([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$`)

// server is the host and port that Git connects to for a URL. Where Git cannot be kept at
// the judged address, the URL is refused.
func server(from string) (host, port string, err error) {
	if u, err := url.Parse(from); err == nil && u.Scheme != "" && strings.Contains(from, "://") {
		host, port = u.Hostname(), u.Port()
		if port == "" {
			port = map[string]string{"https": "443", "http": "80", "ssh": "22"}[u.Scheme]
		}
	} else if _, rest, ok := strings.Cut(from, "@"); ok && !strings.Contains(from, "://") && scp().MatchString(from) {
		host, _, _ = strings.Cut(rest, ":")
		port = "22"
	}
	if host == "" || port == "" || !aHost().MatchString(host) {
		return "", "", fault.New(fault.Denied, "this server does not clone "+WithoutCredentials(from)+" for its users").
			Hint("name the repository by an https:// URL with the plain name of its host")
	}
	return host, port, nil
}

// explain gives the errors of a clone their kinds, by Git's English messages.
func explain(err error, from Source) error {
	said := err.Error()
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(said, t) })
	}
	switch shown := WithoutCredentials(from.URL); {
	case has("Remote branch", "not found in upstream"):
		return fault.Wrap(err, fault.NotFound, "the repository "+shown+" has no branch "+from.Branch)
	case has("Authentication failed", "could not read Username", "HTTP 401", "error: 403", "error: 401"):
		refused := fault.New(fault.Auth, "the host of "+shown+" refuses the token, or wants one")
		if !has("could not read Username") { // which is of how it is run here, and not of the host
			refused = refused.Because(err)
		}
		return refused.Hint("check the token of the Git provider in the settings, and that it may read this repository")
	case has("not found", "does not exist", "does not appear to be a git repository", "Repository not found"):
		return fault.New(fault.NotFound, "there is no repository "+shown+", or the token may not see it").Because(err)
	case has("certificate verif", "SSL certificate problem"): // in the words of GnuTLS and of OpenSSL
		return fault.New(fault.Unavailable, "the certificate of the host of "+shown+" is not trusted").Because(err).
			Hint("if its authority is your own, start this program with SSL_CERT_FILE, the file that has the authority's certificate")
	case has("Could not resolve host", "Failed to connect", "Couldn't connect", "Connection refused", "timed out", "Could not connect"):
		return fault.New(fault.Unavailable, "the host of "+shown+" does not answer").Because(err)
	}
	return fault.Wrap(err, fault.Unavailable, "clone "+WithoutCredentials(from.URL))
}

// Run runs Git in a directory without anything that a repository, or a configuration
// that an agent could write, may bring to it, and with further variables. Its output
// goes to out, whose error ends it.
func Run(ctx context.Context, out io.Writer, dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"-c", "protocol.ext.allow=never", "-c", "credential.helper=",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false",
		"GIT_SSH_COMMAND=" + sshCommand, "GIT_LFS_SKIP_SMUDGE=1",
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	// A Git that is built with GnuTLS knows its own variable only.
	if file, ok := os.LookupEnv("SSL_CERT_FILE"); ok && os.Getenv("GIT_SSL_CAINFO") == "" {
		cmd.Env = append(cmd.Env, "GIT_SSL_CAINFO="+file)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &limited{w: &said}
	if env == nil {
		env = gitlimit.Environ("fetch.unpackLimit", "1", "http.followRedirects", "initial")
	}
	cmd.Env = append(cmd.Env, env...)
	err := spawn.Bounds{Memory: gitlimit.FetchMemory, File: maxPackBytes}.Run(cmd)
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("git %s: %w", args[0], ctx.Err())
	case exited: // its output may hold the URL with its credentials
		return fmt.Errorf("git %s: %s", args[0], WithoutCredentials(strings.TrimSpace(said.String())))
	case err != nil:
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	return nil
}

var credentials = lazyregexp.New(`://[^/\s@]*@`)

// WithoutCredentials returns a text with the user and password of all URLs left out.
func WithoutCredentials(s string) string { return credentials().ReplaceAllString(s, "://****@") }

// limited drops everything beyond some kilobytes.
type limited struct{ w *bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	const limit = 64 << 10
	if space := limit - l.w.Len(); space > 0 {
		l.w.Write(b[:min(space, len(b))])
	}
	return len(b), nil
}

// Output is the output of Run, without spaces around it, and up to some kilobytes.
func Output(ctx context.Context, dir string, args ...string) (string, error) {
	var out bytes.Buffer
	err := Run(ctx, &limited{w: &out}, dir, nil, args...)
	return strings.TrimSpace(out.String()), err
}
