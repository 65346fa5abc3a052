package formerevent

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Workspace is the workspace of a sandbox. The zero value changes no paths.
type Workspace struct {
	// Directory is where it is for the agent, Client where the client believes it to be.
	Directory, Client string
}

// actionPath changes the path of an action's file, if it has one, into the client's.
func (w Workspace) actionPath(ev object) {
	var act object
	var path string
	if json.Unmarshal(ev["action"], &act) != nil || json.Unmarshal(act["path"], &path) != nil {
		return
	}
	below, inside := strings.CutPrefix(path, w.Directory+"/")
	if w.Directory == "" || !inside {
		return
	}
	act["path"] = quoted(w.Client + "/" + below)
	ev["action"] = encoded(act)
}

// uploaded is a line of the list of files with which a message of the page ends: a title in
// the page's language is before the first one.
var uploaded = regexp.MustCompile(`(?m)(^|: )(/[^/\n]+)/([^/\n]+)$`)

// uploads changes the paths of files that the page has uploaded into those where the agent
// finds them.
func (w Workspace) uploads(text, dir string) string {
	return uploaded.ReplaceAllStringFunc(text, func(line string) string {
		m := uploaded.FindStringSubmatch(line)
		if w.Client == "" || m[2] != w.Client {
			return line
		}
		return m[1] + dir + "/" + m[3]
	})
}
