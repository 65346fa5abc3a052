package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// How commands in the sandbox can use an Item.
const (
	writable = "writable"
	readOnly = "read-only"
	hidden   = "hidden"
	layered  = "private layer"
)

// toolchainPrograms are programs that projects are built and tested with.
var toolchainPrograms = []string{"go", "python3", "pip", "uv", "node", "npm", "cargo", "java", "mvn", "gradle", "ruby", "php", "dotnet", "gcc", "clang", "make", "cmake"}

// cacheDirs are the caches of toolchains: the variable that names one, the path
// below that, and its place in the home directory without it.
var cacheDirs = []struct{ tool, variable, below, home string }{
	{"go build", "GOCACHE", "", ".cache/go-build"},
	{"go modules", "GOMODCACHE", "", "go/pkg/mod"},
	{"pip", "PIP_CACHE_DIR", "", ".cache/pip"},
	{"uv", "UV_CACHE_DIR", "", ".cache/uv"},
	{"npm", "npm_config_cache", "_cacache", ".npm/_cacache"},
	{"cargo", "CARGO_HOME", "registry", ".cargo/registry"},
	{"maven", "", "", ".m2/repository"},
	{"gradle", "GRADLE_USER_HOME", "caches", ".gradle/caches"},
	{"nuget", "NUGET_PACKAGES", "", ".nuget/packages"},
}

// find returns the path of a program; "" if it is not in PATH.
func find(program string, env func(string) string) string {
	for _, dir := range filepath.SplitList(env("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path
		}
	}
	return ""
}

// programs looks for those that tools use.
func programs(env func(string) string) (all []Check) {
	for _, p := range []struct {
		name, use string
		missing   State
	}{
		{"bash", "the terminal tool needs it", Failed},
		{"git", "diffstats and agents use it", Warning},
		{"rg", "searches are faster with it", Warning},
	} {
		c := Check{Name: p.name, State: OK, Text: find(p.name, env)}
		if c.Text == "" {
			c.State, c.Text, c.Next = p.missing, "not found: "+p.use, "install it"
		}
		if c.State == Failed {
			c.Exit = fault.ExitError
		}
		all = append(all, c)
	}
	return all
}

// toolchains returns the programs that there are.
func toolchains(env func(string) string) (all []Item) {
	for _, name := range toolchainPrograms {
		if path := find(name, env); path != "" {
			all = append(all, Item{Name: name, Value: path})
		}
	}
	return all
}

// caches returns the directories that there are.
func caches(env func(string) string) (all []Item) {
	for _, c := range cacheDirs {
		dir := ""
		if c.variable != "" {
			dir = env(c.variable)
		}
		switch {
		case dir != "":
			dir = filepath.Join(dir, c.below)
		case env("HOME") != "":
			dir = filepath.Join(env("HOME"), c.home)
		}
		if info, err := os.Stat(dir); filepath.IsAbs(dir) && err == nil && info.IsDir() {
			all = append(all, Item{Name: c.tool, Value: dir})
		}
	}
	return all
}

// tryAccess tries in the sandbox how commands can use items.
func tryAccess(ctx context.Context, s Sandbox, items []Item) (map[string]string, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var paths []string
	for _, i := range items {
		paths = append(paths, i.Value)
	}
	all, err := s.Access(ctx, paths)
	found := map[string]string{}
	for _, a := range all {
		switch {
		case a.Layered:
			found[a.Path] = layered
		case a.Writable:
			found[a.Path] = writable
		case a.Readable:
			found[a.Path] = readOnly
		default:
			found[a.Path] = hidden
		}
	}
	return found, err
}

// with adds the trials to items.
func with(items []Item, access map[string]string) []Item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Sandbox = access[items[i].Value]
	}
	return items
}

func checkToolchains(items []Item, access map[string]string, accessErr error) Check {
	c := Check{Name: "toolchains", State: OK, Items: with(items, access)}
	if len(items) == 0 {
		c.State, c.Text = Warning, "none found in PATH"
		return c
	}
	var names, unseen, parts []string
	for _, i := range c.Items {
		if i.Sandbox == hidden {
			unseen = append(unseen, i.Value)
		} else {
			names = append(names, i.Name)
		}
	}
	if len(names) > 0 {
		parts = append(parts, strings.Join(names, ", "))
	}
	if len(unseen) > 0 {
		c.State, c.Next = Warning, "`--read DIR` shows a directory to the agent's commands"
		parts = append(parts, "hidden in the sandbox: "+strings.Join(unseen, ", "))
	}
	if accessErr != nil {
		c.State = Warning
		parts = append(parts, "the use of these by commands could not be tried: "+accessErr.Error())
	}
	c.Text = strings.Join(parts, "; ")
	return c
}

func (h Host) checkCaches(ctx context.Context, items []Item, access map[string]string) Check {
	c := Check{Name: "caches", State: OK, Items: with(items, access)}
	var list []string
	for _, i := range c.Items {
		text := i.Value
		if i.Sandbox != "" {
			text += " (" + i.Sandbox + ")"
		}
		if i.Sandbox == hidden {
			c.Next = "commands start with empty caches in place of hidden ones; to share one: --read DIR or --write DIR and, below ~/.cache, the variable of its tool, as in --env GOCACHE=DIR"
		}
		list = append(list, text)
	}
	c.Text = strings.Join(list, ", ")
	if len(list) == 0 {
		c.Text = "none found in the home directory"
	}
	if h.Layers == nil {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, layersTime)
	defer cancel()
	layers, err := h.Layers.CacheLayers(ctx)
	if err != nil {
		c.State = Warning
		c.Text += "; the private layers could not be measured: " + err.Error()
		return c
	}
	sum := int64(0)
	for _, l := range layers {
		sum += l.Bytes
		c.Items = append(c.Items, Item{Name: "private layer of " + l.Workspace, Value: fmt.Sprintf("%s, %d MiB", l.Dir, l.Bytes>>20)})
	}
	if len(layers) > 0 {
		c.Text += fmt.Sprintf("; private layers of workspaces: %d with %d MiB in %s", len(layers), sum>>20, filepath.Dir(layers[0].Dir))
	}
	return c
}

// layersTime bounds how long layers are measured.
const layersTime = 10 * time.Second
