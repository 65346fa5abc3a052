package plugin

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/spec"
)

// rootInWords stands for the plugin's directory in descriptions.
const rootInWords = "${CLAUDE_PLUGIN_ROOT}"

// Runs describes everything of the plugin that runs programs or talks to servers: hooks and
// MCP servers, a line each. Two versions with the same lines do the same, but for their files.
func (p Plugin) Runs() (lines []string) {
	add := func(prefix string, all ...string) {
		for _, line := range all {
			lines = append(lines, prefix+strings.ReplaceAll(line, p.Path, rootInWords))
		}
	}
	if p.Hooks != nil {
		add("hook at ", p.Hooks.Words()...)
	}
	for _, a := range p.Agents {
		add("of the agent "+a.Name+": ", a.Runs()...)
	}
	add("", spec.DescribeMCPServers(p.Servers)...)
	return lines
}

// Sum changes with every file of the plugin, so a yes for it is for these files only.
func (p Plugin) Sum() (sum [sha256.Size]byte, err error) {
	root, err := os.OpenRoot(filepath.FromSlash(p.Path))
	if err != nil {
		return sum, err
	}
	defer root.Close()
	all := sha256.New()
	left := int64(maxSummed)
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(all, "%q\n", name)
		n, err := io.Copy(all, io.LimitReader(f, left+1))
		if left -= n; err == nil && left < 0 {
			err = fault.New(fault.Limit, fmt.Sprintf("the plugin has more than %d bytes", maxSummed))
		}
		return err
	})
	all.Sum(sum[:0])
	return sum, err
}

// Keep returns the plugin from a copy below copies, which must have the sum that a user has
// allowed. Conflict if its files have changed since.
func (p Plugin) Keep(copies string, allowed [sha256.Size]byte) (Plugin, error) {
	dir, err := filepath.FromSlash(p.Path), error(nil)
	if copies != "" {
		if dir, err = shown(dir, copies); err != nil {
			return Plugin{}, err
		}
	}
	kept, err := Load(dir)
	if err != nil {
		return Plugin{}, err
	}
	if sum, err := kept.Sum(); err != nil || sum != allowed {
		return Plugin{}, fault.New(fault.Conflict, "the files of the plugin "+p.Name+" change while they are read").Because(err)
	}
	return kept, nil
}

// maxSummed bounds the files of a plugin that a project brings along, in bytes.
const maxSummed = 16 << 20

// Brings names the parts of the plugin that are text for the model, a line each.
func (p Plugin) Brings() (lines []string) {
	for _, s := range p.Skills {
		lines = append(lines, "skill "+s.Name)
	}
	for _, s := range p.Commands {
		lines = append(lines, "command /"+s.Name)
	}
	for _, a := range p.Agents {
		lines = append(lines, "agent "+a.Name)
	}
	return lines
}

// Problems names the parts that cannot be used, a line each.
func (p Plugin) Problems() (lines []string) {
	for _, w := range p.Warnings {
		lines = append(lines, strings.TrimPrefix(w.Path, p.Path+"/")+": "+w.Err.Error())
	}
	return lines
}
