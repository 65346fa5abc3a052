package sandbox

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Mount shows a directory of the host, or a named volume, inside. Its text is
// SOURCE:TARGET or SOURCE:TARGET:MODE, as Docker and OpenHands (SANDBOX_VOLUMES) have it.
type Mount struct {
	Source string `json:"source"` // an absolute path, or the name of a volume
	Target string `json:"target"` // absolute, inside
	// Mode is MountReadWrite, MountReadOnly or MountOverlay: writes to an overlay stay
	// in the sandbox and are removed with it.
	Mode string `json:"mode"`
}

// Modes of a [Mount].
const (
	MountReadWrite = "rw"
	MountReadOnly  = "ro"
	MountOverlay   = "overlay"
)

var volumeName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,200}$`)

// Check returns an error of kind fault.Invalid for a mount that no provider can make.
func (m Mount) Check() error {
	refuse := func(why, hint string) error {
		return fault.New(fault.Invalid, "the mount "+m.Source+":"+m.Target+" "+why).Hint(hint)
	}
	switch {
	case !path.IsAbs(m.Target) || path.Clean(m.Target) == "/" || path.Clean(m.Target) != strings.TrimSuffix(m.Target, "/"):
		return refuse("has no directory inside", "for example ~/data:/data:ro")
	case !path.IsAbs(m.Source) && !volumeName().MatchString(m.Source):
		return refuse("has neither an absolute path nor the name of a volume", "for example ~/data:/data:ro, or cache:/cache")
	case m.Mode != MountReadWrite && m.Mode != MountReadOnly && m.Mode != MountOverlay:
		return refuse("has an unknown mode "+m.Mode, "use rw, ro or overlay")
	case m.Mode == MountOverlay && !path.IsAbs(m.Source):
		return refuse("is an overlay of a volume", "overlays are of directories; use rw or ro")
	case strings.ContainsAny(m.Source+m.Target, ",:\\\x00\n"):
		return refuse("has a comma, colon or backslash in a path", "rename the directory")
	}
	return nil
}

// UnmarshalText reads SOURCE:TARGET[:MODE]; without a mode it is read-write. The error is
// of kind fault.Invalid.
func (m *Mount) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	if len(parts) < 2 || len(parts) > 3 {
		return fault.New(fault.Invalid, "not a mount: "+string(text)).Hint("write SOURCE:TARGET or SOURCE:TARGET:MODE, for example ~/data:/data:ro")
	}
	*m = Mount{Source: parts[0], Target: parts[1], Mode: MountReadWrite}
	if len(parts) == 3 {
		m.Mode = parts[2]
	}
	return m.Check()
}

// UnmarshalJSON reads an object, as it is stored with a conversation.
func (m *Mount) UnmarshalJSON(raw []byte) error {
	type fields Mount
	return json.Unmarshal(raw, (*fields)(m))
}

// String is the text of the mount.
func (m Mount) String() string { return m.Source + ":" + m.Target + ":" + m.Mode }

// GrantMounts returns mounts with the directories that grant gives for their sources, which
// are the user's own. Volumes stay as they are.
func GrantMounts(all []Mount, grant func(dir string) (string, error)) ([]Mount, error) {
	all = slices.Clone(all)
	for i, m := range all {
		if !path.IsAbs(m.Source) {
			continue
		}
		var err error
		if all[i].Source, err = grant(m.Source); err != nil {
			return nil, err
		}
	}
	return all, nil
}
