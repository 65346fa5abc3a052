// Package registryhosts knows which hosts the package managers of ecosystems fetch
// from: the hosts of the user's own configuration, or the public ones.
//
// # Usage
//
//	text, err := registryhosts.Expand("go,npm,example.com", registryhosts.Source{Env: os.Getenv})
//
// Only the configuration of the user and of the machine is read, never a
// project's, which could grant hosts to itself.
//
// # Concurrency and failure
//
// Expand is safe for concurrent use. A configuration that is missing is none; one that
// cannot be read or understood is an error of kind fault.Invalid that names the file.
package registryhosts

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/fault"
)

// maxConfig bounds a configuration file, in bytes.
const maxConfig = 1 << 20

// Source is where configurations are.
type Source struct {
	// Env returns a variable of the user's environment.
	Env func(string) string
	// Root is the directory that stands for "/"; default "/". It is for tests.
	Root string
}

// presets are the names of ecosystems.
var presets = map[string]func(*reader){
	"cargo": (*reader).cargo, "debian": (*reader).debian, "go": (*reader).golang,
	"maven": (*reader).maven, "npm": (*reader).npm, "pypi": (*reader).pypi,
}

// Known reports whether a word is the name of an ecosystem.
func Known(word string) bool { return presets[strings.ToLower(word)] != nil }

// Names are the names of ecosystems, sorted.
func Names() []string { return slices.Sorted(maps.Keys(presets)) }

// Expand replaces the names of ecosystems (cargo, debian, go, maven, npm and pypi) in a
// list of hosts with commas by the hosts of their registries.
func Expand(list string, s Source) (string, error) {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		read, ok := presets[strings.ToLower(strings.TrimSpace(entry))]
		if !ok {
			out = append(out, entry)
			continue
		}
		r := &reader{source: s}
		read(r)
		if r.err != nil {
			return "", r.err
		}
		out = append(out, r.hosts...)
	}
	return strings.Join(out, ","), nil
}

// reader collects the hosts of one ecosystem.
type reader struct {
	source Source
	hosts  []string
	err    error // the first one
}

func (r *reader) env(name string) string { return r.source.Env(name) }

// home returns a path in the user's home, "" without one.
func (r *reader) home(rel string) string {
	if home := r.env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, rel)
	}
	return ""
}

func (r *reader) system(path string) string { return filepath.Join("/", r.source.Root, path) }

// file returns the content of a configuration, "" if there is none.
func (r *reader) file(path string) string {
	if path == "" || r.err != nil {
		return ""
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	if err != nil {
		r.fail(path, err)
		return ""
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(raw) > maxConfig {
		err = errors.New("longer than 1 MiB")
	}
	if err != nil {
		r.fail(path, err)
	}
	return string(raw)
}

func (r *reader) fail(path string, err error) {
	if r.err == nil {
		r.err = fault.New(fault.Invalid, "cannot read the registries in "+path).Because(err).
			Hint("name the hosts in --net in place of the ecosystem")
	}
}

// addURL adds the host of a web address and reports whether it is one.
func (r *reader) addURL(text string) bool {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	text = strings.TrimPrefix(strings.TrimPrefix(text, "sparse+"), "registry+")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || strings.ContainsAny(u.Host, "${},") {
		return false
	}
	r.add(u.Host)
	return true
}

func (r *reader) add(hosts ...string) {
	for _, h := range hosts {
		if !slices.Contains(r.hosts, h) {
			r.hosts = append(r.hosts, h)
		}
	}
}

// settings yields the keys and values of lines such as "key = value". A line that
// begins with a blank goes on with the key before it.
func settings(text string, each func(key, value string)) {
	last := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.ContainsAny(trimmed[:1], "#;[") {
			continue
		}
		key, value, ok := strings.Cut(trimmed, "=")
		if strings.ContainsAny(line[:1], " \t") && last != "" && (!ok || strings.Contains(key, "://")) {
			each(last, trimmed)
			continue
		}
		last = strings.TrimSpace(key)
		each(last, strings.TrimSpace(value))
	}
}
