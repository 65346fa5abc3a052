package remote

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/repository"
)

// startRequest is the body of POST /start.
type startRequest struct {
	Image        string            `json:"image,omitempty"`
	Command      []string          `json:"command"`
	WorkingDir   string            `json:"working_dir"`
	Environment  map[string]string `json:"environment"`
	SessionID    string            `json:"session_id"`
	User         *int              `json:"run_as_user,omitempty"`
	Group        *int              `json:"run_as_group,omitempty"`
	Pull         string            `json:"image_pull_policy,omitempty"`
	RuntimeClass string            `json:"runtime_class,omitempty"`
}

// pullPolicies are the contract's names.
var pullPolicies = map[string]string{"": "", sandbox.PullAlways: "Always", sandbox.PullMissing: "IfNotPresent", sandbox.PullNever: "Never"}

// request is the contract's form of s.
func (p *Provider) request(s sandbox.Spec, session string) (startRequest, error) {
	c := s.Container
	if err := described.Check(s); err != nil {
		return startRequest{}, err
	}
	switch {
	case !validID().MatchString(s.ID):
		return startRequest{}, fault.New(fault.Invalid, "not a sandbox id: "+s.ID)
	case len(s.Argv) == 0 || !filepath.IsAbs(s.Argv[0]):
		return startRequest{}, fault.New(fault.Invalid, "the sandbox's program must be an absolute path")
	case !path.IsAbs(s.Workspace) || path.Clean(s.Workspace) == "/":
		return startRequest{}, fault.New(fault.Invalid, "the workspace must be the absolute path of a directory inside: "+s.Workspace).Hint("for example /workspace")
	}
	q := startRequest{
		Image: c.Image, Command: append([]string{"deft"}, s.Argv[1:]...), WorkingDir: path.Clean(s.Workspace), Environment: map[string]string{},
		SessionID: session, RuntimeClass: c.Runtime,
	}
	if s.EnvMark != "" {
		q.Command = append(q.Command, "--mark", s.EnvMark)
	}
	for _, kv := range s.Env {
		if name, value, _ := strings.Cut(kv, "="); !slices.Contains(sandbox.ImageVariables, name) {
			q.Environment[name] = value
		}
	}
	if p.o.GitIdentity {
		p.addIdentity(q.Environment)
	}
	var ok bool
	if q.Pull, ok = pullPolicies[c.Pull]; !ok {
		return q, fault.New(fault.Invalid, "unknown pull policy "+c.Pull).Hint("use missing, always or never")
	}
	if c.User != "" {
		user, group, both := strings.Cut(c.User, ":")
		var err error
		if q.User, err = number(user); err == nil && both {
			q.Group, err = number(group)
		}
		if err != nil {
			return q, fault.New(fault.Unsupported, "a Runtime API takes users by number only, not "+c.User)
		}
	}
	return q, nil
}

// addIdentity has commits carry the user's name and address: the contract has no files of
// Git's configuration, so it is in the environment, behind the existing variables. The
// options of git and GIT_AUTHOR_NAME count more.
func (p *Provider) addIdentity(env map[string]string) {
	name, email, _ := repository.User(p.o.Home, p.o.Home)
	n, err := strconv.Atoi(cmp.Or(env["GIT_CONFIG_COUNT"], "0"))
	if err != nil || n < 0 {
		return // git refuses to work with that
	}
	for _, set := range [][2]string{{"user.name", name}, {"user.email", email}} {
		if set[1] != "" {
			at := strconv.Itoa(n)
			env["GIT_CONFIG_KEY_"+at], env["GIT_CONFIG_VALUE_"+at] = set[0], set[1]
			n++
			env["GIT_CONFIG_COUNT"] = strconv.Itoa(n)
		}
	}
}

func number(text string) (*int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return new(int(n)), err
}
