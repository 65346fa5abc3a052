package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine is what doctor says about the machine, beside what it tries.
type machine struct {
	// FreeBytes is the free space at the data directory; -1 if unknown.
	FreeBytes  int64       `json:"free_bytes"`
	Toolchains []program   `json:"toolchains"`
	Caches     []string    `json:"caches"`
	Proxies    []proxy     `json:"proxies"`
	Namespaces []namespace `json:"user_namespaces"`
}

// program is an outside program that tools use.
type program struct {
	Name string `json:"name"`
	Path string `json:"path"` // empty when it is missing
	Use  string `json:"use"`
}

// proxy is a proxy variable, without credentials.
type proxy struct{ Variable, Value string }

// namespace is a setting of the kernel for user namespaces.
type namespace struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	OK      bool   `json:"ok"`
}

// leastFree is the space below which a disk counts as full: a run may write that
// much in minutes.
const leastFree = 16 << 20

// toolchains are programs that projects are built and tested with.
var toolchains = []string{"go", "python3", "pip", "uv", "node", "npm", "cargo", "java", "mvn", "gradle", "ruby", "php", "dotnet", "gcc", "clang", "make", "cmake"}

// caches of toolchains, in the home directory.
var caches = []string{".cache/go-build", "go/pkg/mod", ".cache/pip", ".cache/uv", ".npm", ".cargo/registry", ".m2/repository", ".gradle/caches", ".nuget/packages"}

// lookAround looks at the machine. data is the data directory.
func lookAround(data string, env func(string) string) machine {
	m := machine{FreeBytes: freeAt(data), Namespaces: namespaces("/proc/sys"), Proxies: []proxy{}, Caches: []string{}, Toolchains: []program{}}
	for _, name := range toolchains {
		if path, err := exec.LookPath(name); err == nil {
			m.Toolchains = append(m.Toolchains, program{Name: name, Path: path})
		}
	}
	for _, name := range caches {
		if dir := filepath.Join(env("HOME"), name); env("HOME") != "" {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				m.Caches = append(m.Caches, dir)
			}
		}
	}
	for _, name := range proxyVariables {
		if v := env(name); v != "" {
			m.Proxies = append(m.Proxies, proxy{name, withoutUser(v)})
		}
	}
	return m
}

// proxyVariables are read by most programs; the small letters go first.
var proxyVariables = []string{"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// withoutUser is an address without its user and password.
func withoutUser(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		u.User = nil
		return u.String()
	}
	if _, host, ok := strings.Cut(address, "@"); ok {
		return host
	}
	return address
}

// freeAt returns the free space of the file system of a directory, or of the
// nearest one above it that exists.
func freeAt(dir string) int64 {
	for {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err == nil {
			return int64(s.Bavail) * s.Bsize
		}
		above := filepath.Dir(dir)
		if above == dir {
			return -1
		}
		dir = above
	}
}

// namespaces reads the settings that allow or refuse user namespaces. Those that
// a kernel does not have are left out.
func namespaces(sysctl string) []namespace {
	out := []namespace{}
	for _, s := range []struct {
		name string
		ok   func(int) bool
	}{
		{"user/max_user_namespaces", func(n int) bool { return n > 0 }},
		{"kernel/unprivileged_userns_clone", func(n int) bool { return n != 0 }},
		{"kernel/apparmor_restrict_unprivileged_userns", func(n int) bool { return n == 0 }},
	} {
		b, err := os.ReadFile(filepath.Join(sysctl, s.name))
		if err != nil {
			continue
		}
		value := strings.TrimSpace(string(b))
		n, err := strconv.Atoi(value)
		out = append(out, namespace{strings.ReplaceAll(s.name, "/", "."), value, err == nil && s.ok(n)})
	}
	return out
}

// full reports a disk without room.
func (m machine) full() bool { return m.FreeBytes >= 0 && m.FreeBytes < leastFree }

// rows are the lines that doctor prints: whether all is well with it, a name and
// a text.
func (m machine) rows(root bool) (rows []doctorRow) {
	disk := "free space unknown"
	if m.FreeBytes >= 0 {
		disk = strconv.FormatInt(m.FreeBytes>>20, 10) + " MiB free"
	}
	if m.full() {
		disk += ": the disk is full; events cannot be stored"
	}
	rows = append(rows, doctorRow{markOf(!m.full()), "disk", disk})
	refused := []string{}
	for _, n := range m.Namespaces {
		if !n.OK {
			refused = append(refused, n.Setting+" = "+n.Value)
		}
	}
	switch {
	case len(refused) == 0:
		rows = append(rows, doctorRow{markGood, "user namespaces", "allowed by the kernel's settings"})
	case root:
		rows = append(rows, doctorRow{markNone, "user namespaces", "refused to ordinary users: " + strings.Join(refused, ", ")})
	default:
		rows = append(rows, doctorRow{markBad, "user namespaces", "refused: " + strings.Join(refused, ", ") + "; the weaker level of the sandbox is used"})
	}
	var names, proxies []string
	for _, t := range m.Toolchains {
		names = append(names, t.Name)
	}
	for _, p := range m.Proxies {
		proxies = append(proxies, p.Variable+"="+p.Value)
	}
	return append(rows,
		listRow("toolchains", names, "none found"),
		listRow("caches", m.Caches, "none found in the home directory"),
		listRow("proxies", proxies, "none set"))
}

// doctorRow is a line of doctor.
type doctorRow struct {
	mark       mark
	name, text string
}

// mark says how it is about something.
type mark int

const (
	markNone mark = iota // neither good nor bad
	markGood
	markBad
)

func markOf(ok bool) mark {
	if ok {
		return markGood
	}
	return markBad
}

func listRow(name string, list []string, none string) doctorRow {
	if len(list) == 0 {
		return doctorRow{markNone, name, none}
	}
	return doctorRow{markNone, name, strings.Join(list, ", ")}
}
