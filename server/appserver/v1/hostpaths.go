package v1

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deft-dev/deft/server/appserver/sandboxes"
)

// hostPaths hides where directories are on this machine from whoever reads a shared
// conversation: workspaces become [sandboxes.ClientDirectory], as inside of containers.
type hostPaths []hostPath

type hostPath struct {
	name *regexp.Regexp // with the character behind it, which must not go on with the name
	to   string
}

// elsewhere stands for the data directories, and home for the server's own home.
const (
	elsewhere = "/deft"
	home      = "~"
)

// dataPaths are the paths below the server's directory, below other directories with its data, and
// below its home.
func dataPaths(dir, conversations, own string) hostPaths {
	return slices.Concat(pathsOf(dir, `/workspaces/[\w-]+`, sandboxes.ClientDirectory), pathsOf(dir, "", elsewhere), pathsOf(conversations, "", elsewhere), pathsOf(own, "", home))
}

// with adds the paths of a conversation that works in a directory of this machine.
func (h hostPaths) with(dir string) hostPaths {
	return slices.Concat(pathsOf(dir, "", sandboxes.ClientDirectory+"/"+sandboxes.ProjectDirectory), h) // it may be below the home
}

// pathsOf are the paths below a directory, by each of its names.
func pathsOf(dir, below, to string) (h hostPaths) {
	if dir == "" {
		return nil
	}
	names := []string{filepath.Clean(dir)}
	if real, err := filepath.EvalSymlinks(dir); err == nil { // else there is nothing with that name
		names = append(names, real)
	}
	for _, name := range slices.Compact(names) {
		if filepath.IsAbs(name) && name != "/" {
			h = append(h, hostPath{regexp.MustCompile(regexp.QuoteMeta(inJSON(name)) + below + `([^\w.-]|$)`), to})
		}
	}
	return h
}

// inJSON is a text as it is in JSON strings.
func inJSON(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return text
	}
	return strings.Trim(b.String(), "\"\n")
}

// hide returns an event without the paths.
func (h hostPaths) hide(event json.RawMessage) json.RawMessage {
	for _, p := range h {
		event = p.name.ReplaceAll(event, []byte(p.to+"${1}"))
	}
	return event
}
