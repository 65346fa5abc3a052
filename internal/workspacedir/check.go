package workspacedir

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
)

// systemDirs are no workspaces, and neither is anything in systemTrees: who may
// write there owns the machine.
var (
	systemDirs  = []string{"/", "/home", "/run", "/tmp", "/var", "/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/spool", "/var/tmp"}
	systemTrees = []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr",
		"/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/dpkg", "/var/lib/systemd", "/var/spool/cron",
	}
	// sources lie in systemTrees and hold projects.
	sources = []string{"/usr/src", "/usr/local/src"}
)

// credentialDirs are directories of a home that hold keys, or programs and
// settings that other programs run.
var credentialDirs = []string{
	".aws", ".azure", ".config/autostart", ".config/fish", ".config/gcloud", ".config/gh", ".config/git", ".config/systemd", ".docker", ".gnupg",
	".kube", ".local/bin", ".local/share/keyrings", ".mozilla", ".password-store", ".pki", ".ssh",
}

// Rules say which directories are refused beside the system's.
type Rules struct {
	// Home is the user's home directory; empty for none. The homes of the
	// machine's other users are refused as well.
	Home string
	// Data are the program's own directories.
	Data []string
	// What names the directory in errors; "the workspace" by default.
	What string
	// Hint says what to do instead; "use a project's directory" by default.
	Hint string
}

// Existing is [Rules.Check] for a directory that must exist and be readable. Errors are of
// kind Invalid or Denied.
func (r Rules) Existing(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", r.fail(fault.Invalid, "cannot be used").Because(err)
	}
	st, err := os.Stat(abs)
	if err == nil && !st.IsDir() {
		return "", r.fail(fault.Invalid, abs+" is not a directory")
	}
	if err == nil {
		err = readable(abs)
	}
	if err != nil {
		return "", r.fail(fault.Denied, "cannot be read").Because(err)
	}
	return r.Check(abs)
}

// readable tries to list a directory.
func readable(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.ReadDir(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Check returns dir as an absolute path without links, as far as it exists. It
// refuses, by the target of a path rather than by its name: directories of the
// system, homes and directories that contain one, directories with credentials in
// a home, and everything in the program's own data. The error is of kind Invalid.
func (r Rules) Check(dir string) (string, error) {
	if dir == "" || strings.ContainsRune(dir, 0) {
		return "", r.refuse("cannot be used: " + strings.ReplaceAll(dir, "\x00", "\uFFFD"))
	}
	dir = realpath.Resolve(dir)
	above, machine := parents(dir), protectedFrom(r.Home)
	switch {
	case isOne(above[:1], machine.dirs),
		isOne(above, machine.trees) && !slices.ContainsFunc(sources, func(s string) bool { return dir != s && Within(dir, s) }):
		return "", r.refuse("cannot be the system directory " + dir)
	case isOne(above, atAll(r.Data)):
		return "", r.refuse(dir + " lies in Deft's own data")
	}
	for _, home := range machine.homes {
		switch {
		case isOne(home.above, above[:1]):
			return "", r.refuse(dir + " holds the home directory " + home.above[0].path + ", whose start-up files an agent must not write")
		case home.holdsCredentials(dir):
			return "", r.refuse(dir + " holds credentials or programs of a user")
		}
	}
	return dir, nil
}

func (r Rules) refuse(why string) error { return r.fail(fault.Invalid, why) }

func (r Rules) fail(kind fault.Kind, why string) *fault.Error {
	return fault.New(kind, cmp.Or(r.What, "the workspace")+" "+why).Hint(cmp.Or(r.Hint, "use a project's directory"))
}

// Granted returns the directories that flag grants in addition to a workspace, as
// [Rules.Check] does. They must exist; a directory that cannot be a workspace cannot
// be granted.
func (r Rules) Granted(flag string, dirs []string) ([]string, error) {
	var all []string
	r.What = "the directory of " + flag
	for _, dir := range dirs {
		real, err := r.Check(dir)
		if err != nil {
			return nil, err
		}
		if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
			return nil, r.refuse("is not a directory: " + real)
		}
		all = append(all, real)
	}
	return all, nil
}

// Grant is [Rules.Granted] for one directory.
func (r Rules) Grant(flag, dir string) (string, error) {
	all, err := r.Granted(flag, []string{dir})
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// Homes returns the home directories of the machine's users, and own unless it is
// empty, without links.
func Homes(own string) []string {
	all := []string{"/root"}
	if filepath.IsAbs(own) {
		all = append(all, own)
	}
	all = append(all, accounts()...)
	if entries, err := os.ReadDir("/home"); err == nil {
		for _, e := range entries {
			all = append(all, filepath.Join("/home", e.Name()))
		}
	}
	for i, h := range all {
		all[i] = realpath.Resolve(h)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(h string) bool { return h == "/" })
}

// accounts returns the homes of people's accounts in /etc/passwd.
func accounts() (dirs []string) {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return nil // without accounts there are no further homes
	}
	defer f.Close()
	for lines := bufio.NewScanner(io.LimitReader(f, 4<<20)); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		// Accounts of services have the home / or one of the system's.
		if len(fields) >= 6 && filepath.IsAbs(fields[5]) && len(fields[2]) >= 4 && fields[2] != "65534" {
			dirs = append(dirs, fields[5])
		}
	}
	return dirs
}

// directory is a path with its identity, if it exists.
type directory struct {
	path string
	info os.FileInfo
}

func at(path string) directory {
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	return directory{path, info}
}

// parents returns a directory and all above it, the nearest first.
func parents(path string) []directory {
	all := []directory{at(path)}
	for path != filepath.Dir(path) {
		path = filepath.Dir(path)
		all = append(all, at(path))
	}
	return all
}

// isOne reports whether one of some directories is one of others, by its name or by
// its identity: a bind mount has another name.
func isOne(some, others []directory) bool {
	return slices.ContainsFunc(others, func(other directory) bool {
		return slices.ContainsFunc(some, func(d directory) bool {
			return d.path == other.path || d.info != nil && other.info != nil && os.SameFile(d.info, other.info)
		})
	})
}

// Within reports whether path is dir or lies in it; both are clean.
func Within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
