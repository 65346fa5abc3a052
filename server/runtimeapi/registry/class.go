package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/pool"
)

// Fields of requests that a provider may not be able to follow.
const (
	FieldImage   = "image"
	FieldPull    = "image_pull_policy"
	FieldUser    = "run_as_user"
	FieldGroup   = "run_as_group"
	FieldFSGroup = "fs_group"
	FieldRuntime = "runtime_class"
	FieldFactor  = "resource_factor"
)

// Fields are the fields that can be ignored.
var Fields = []string{FieldImage, FieldPull, FieldUser, FieldGroup, FieldFSGroup, FieldRuntime, FieldFactor}

// class returns the class of a request, and clears ignored fields in the request.
func (r *Registry) class(q *Request) (class, error) {
	q.Factor = cmp.Or(q.Factor, 1)
	q.User = cmp.Or(q.User, q.Command.User)
	if q.Pull == sandbox.PullMissing && r.o.Containers { // as without it: one class of the pool
		q.Pull = ""
	}
	for _, f := range []struct {
		name  string
		set   bool
		clear func()
		why   string
	}{
		{FieldImage, q.Image != "", func() { q.Image = "" }, r.needsContainers()},
		{FieldPull, q.Pull != "", func() { q.Pull = "" }, r.needsContainers()},
		{FieldRuntime, q.RuntimeClass != "", func() { q.RuntimeClass = "" }, r.needsContainers()},
		{FieldUser, q.User != nil, func() { q.User = nil }, r.needsOwner(q.User, os.Geteuid(), "user")},
		{FieldGroup, q.Group != nil, func() { q.Group = nil }, r.needsOwner(q.Group, os.Getegid(), "group")},
		{FieldFSGroup, q.FSGroup != nil, func() { q.FSGroup = nil }, r.needsOwner(q.FSGroup, os.Getegid(), "group")},
		{FieldFactor, q.Factor != 1, func() { q.Factor = 1 }, r.needsLimits(q.Factor)},
	} {
		switch {
		case !f.set:
		case slices.Contains(r.o.Ignore, f.name):
			f.clear()
		case f.why != "":
			return class{}, fault.New(fault.Unsupported, f.name+": "+f.why).
				Hint("leave it out, or start the server with --ignore " + f.name)
		}
	}
	if q.Image == "" && r.o.Containers && !slices.Contains(r.o.Ignore, FieldImage) {
		return class{}, fault.New(fault.Invalid, "image is missing")
	}
	return class{q.Image, q.Factor, q.User, q.Group, q.FSGroup, q.Pull, q.RuntimeClass}, nil
}

func (r *Registry) needsContainers() string {
	if r.o.Containers {
		return ""
	}
	return "this server's sandboxes are not containers"
}

// needsOwner says why programs cannot be those of a user or a group; own is this server's.
func (r *Registry) needsOwner(id *int, own int, what string) string {
	switch {
	case id == nil, *id == own:
		return ""
	case !r.o.Containers:
		return "this server's sandboxes run as its own " + what + " " + strconv.Itoa(own)
	case os.Geteuid() != 0:
		return "only a server of root can give the workspace to the " + what + " " + strconv.Itoa(*id)
	}
	return ""
}

func (r *Registry) needsLimits(factor float64) string {
	switch {
	case factor <= 0 || factor > 64:
		return "it must be more than 0 and at most 64"
	case factor != 1 && r.o.Limits.MemoryBytes <= 0 && r.o.Limits.CPUs <= 0:
		return "this server sets no limit of memory or processors that it could multiply"
	}
	return ""
}

// scaled multiplies the limits that are set.
func scaled(l sandbox.Limits, factor float64) sandbox.Limits {
	if l.MemoryBytes > 0 {
		l.MemoryBytes = int64(float64(l.MemoryBytes) * factor)
	}
	if l.CPUs > 0 {
		l.CPUs *= factor
	}
	return l
}

// userOf returns the user and group of a container's programs.
func userOf(user int, groups ...*int) string {
	group := user
	for _, g := range slices.Backward(groups) {
		if g != nil {
			group = *g
		}
	}
	return fmt.Sprintf("%d:%d", user, group)
}

// own gives a workspace to the user and the group of its class.
func own(dir string, c class) error {
	uid, gid := -1, -1
	if c.User != nil {
		uid = *c.User
		gid = *c.User
	}
	if c.Group != nil {
		gid = *c.Group
	}
	mode := os.FileMode(0o700)
	if c.FSGroup != nil { // as Kubernetes does it: files belong to the group
		gid, mode = *c.FSGroup, 0o770|os.ModeSetgid
	}
	if uid < 0 && gid < 0 {
		return nil
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return fault.Wrap(err, fault.Denied, "give the workspace to its user")
	}
	if err := os.Chmod(dir, mode); err != nil {
		return fault.Wrap(err, fault.Denied, "protect the workspace")
	}
	return nil
}

// name identifies the class in the pool.
func (c class) name() pool.Class {
	raw, err := json.Marshal(c)
	if err != nil { // texts and numbers
		panic(err)
	}
	return pool.Class(raw)
}

// checkNames refuses names that cannot be part of an environment or a path.
func checkNames(q Request) error {
	if len(q.SessionID) > 200 || strings.ContainsFunc(q.SessionID, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return fault.New(fault.Invalid, "session_id: at most 200 characters, none of them a control character")
	}
	for name, value := range q.Environment {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fault.New(fault.Invalid, "environment: "+strconv.Quote(shorten(name))+" cannot be a variable")
		}
	}
	if q.WorkingDir != "" && !strings.HasPrefix(q.WorkingDir, "/") || strings.Contains(q.WorkingDir, "\x00") {
		return fault.New(fault.Invalid, "working_dir must be an absolute path")
	}
	return nil
}
