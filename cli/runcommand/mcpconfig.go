package runcommand

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// ProjectConfig is the file in which a project names its MCP servers.
const ProjectConfig = ".mcp.json"

// maxConfig bounds a file of MCP servers, in bytes.
const maxConfig = 1 << 20

// ReadServers reads MCP servers from files, by name; of two with one name, the
// later counts. The error is of kind Invalid.
func ReadServers(files ...string) (*schema.Map, error) {
	all := schema.NewMap()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, fault.New(fault.Invalid, "the file of MCP servers cannot be read").Because(err).Hint("check --mcp-config")
		}
		raw, err := readConfig(f)
		if err != nil {
			return nil, err
		}
		servers, err := parseServers(raw)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "the MCP servers of "+file)
		}
		for _, name := range servers.Keys() {
			all.Set(name, servers.Get(name))
		}
	}
	return all, nil
}

func readConfig(f io.ReadCloser) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the MCP servers")
	}
	if len(raw) > maxConfig {
		return nil, fault.New(fault.Invalid, "the file of MCP servers is larger than 1 MiB")
	}
	return textfile.Decode(raw), nil
}

// parseServers reads servers by name, bare or below the key "mcpServers" as
// other programs write them. "type" is read as transport.
func parseServers(raw []byte) (*schema.Map, error) {
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, err
	}
	m, _ := v.(*schema.Map)
	if inner, ok := m.Lookup("mcpServers"); ok {
		m, _ = inner.(*schema.Map)
	}
	if m == nil {
		return nil, fault.New(fault.Invalid, `it is not an object of servers`).
			Hint(`write {"mcpServers": {"NAME": {"command": "PROGRAM", "args": []}}}`)
	}
	out := schema.NewMap()
	for _, name := range m.Keys() {
		one := m.Object(name)
		if t, ok := one.Lookup("type"); ok {
			one = one.Copy()
			one.Delete("type")
			if _, given := one.Lookup("transport"); !given {
				one.Set("transport", t)
			}
			out.Set(name, one)
			continue
		}
		out.Set(name, m.Get(name))
	}
	checked, err := schema.Check(spec.MCPServers, out, schema.Reading{}, "mcpServers")
	if err != nil {
		return nil, err
	}
	out, _ = checked.(*schema.Map)
	for _, name := range out.Keys() {
		hosts, _ := out.Object(name).Get("network").([]any)
		for _, host := range hosts {
			text, _ := host.(string)
			if _, err := sandbox.ParseNetwork(text); err != nil {
				return nil, fmt.Errorf("the network of %s: %w", name, err)
			}
		}
	}
	return out, nil
}

// Project is a project that may have a file of MCP servers. The file is foreign:
// it names programs and addresses, and secrets that they get.
type Project struct {
	Dir string // absolute
	// Answers is the file where the user's answers are kept.
	Answers string
	// Unsandboxed says that programs run without a sandbox.
	Unsandboxed bool
	// Again asks although the user has answered.
	Again bool
	// Prompter asks the user; nil where there is no terminal.
	Prompter Prompter
	// Tell shows the user a line.
	Tell func(string)
}

// Servers returns the MCP servers of the project, if the user allows them: he is
// asked once for each content of the file, and again for runs without a sandbox.
// Without a terminal they are not used, and the user is told how to allow them.
func (p Project) Servers(ctx context.Context) (*schema.Map, error) {
	raw, err := p.read()
	if raw == nil || err != nil {
		return nil, err
	}
	servers, err := parseServers(raw)
	if err != nil {
		p.Tell("the project's " + ProjectConfig + " is not used: " + safeText(err.Error()))
		return nil, nil
	}
	sum := sha256.Sum256(raw)
	answer := hex.EncodeToString(sum[:])
	answers, err := p.answers()
	if err != nil {
		return nil, err
	}
	key := p.Dir
	if p.Unsandboxed { // a yes for the sandbox gives programs less
		key = "no sandbox: " + p.Dir
	}
	given := answers[key]
	switch {
	case p.Again && p.Prompter != nil:
	case given == answer:
		return servers, nil
	case given == "not "+answer:
		p.Tell("the MCP servers of the project's " + ProjectConfig + " are not used, as you have answered; --ask-mcp asks again")
		return nil, nil
	case p.Prompter == nil:
		p.Tell("the MCP servers of the project's " + ProjectConfig + " are not used; --mcp-config " + ProjectConfig + " allows them")
		return nil, nil
	}
	allowed, err := p.ask(ctx, servers)
	if err != nil {
		return nil, err
	}
	answers[key] = answer
	if !allowed {
		answers[key], servers = "not "+answer, nil
	}
	return servers, p.keep(answers)
}

// ask asks about servers. No answer is a refusal that is not kept.
func (p Project) ask(ctx context.Context, servers *schema.Map) (bool, error) {
	rights := "Programs start in the sandbox, with the rights of the agent's commands and the hosts of their \"network\"; addresses are asked from outside of it:"
	if p.Unsandboxed {
		rights = "There is no sandbox, so programs run with your rights:"
	}
	p.Tell("The project's " + ProjectConfig + " names MCP servers. " + rights)
	for _, name := range servers.Keys() {
		text, err := inWords(servers.Object(name))
		if err != nil {
			return false, err
		}
		p.Tell("    " + safeText(name+": "+text))
	}
	for {
		line, err := p.Prompter.Ask(ctx, "Use them in this project? [y]es, [n]o: ")
		if err != nil {
			return false, fault.Wrap(err, fault.Interrupted, "ask about the project's MCP servers")
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// inWords describes an MCP server: its command or its address, and all other
// settings as they are.
func inWords(server *schema.Map) (string, error) {
	var parts []string
	command, _ := server.Get("command").(string)
	address, _ := server.Get("url").(string)
	switch {
	case command != "":
		words := []string{shellWord(command)}
		args, _ := server.Get("args").([]any)
		for _, a := range args {
			text, _ := a.(string)
			words = append(words, shellWord(text))
		}
		parts = append(parts, "runs "+strings.Join(words, " "))
	case address != "":
		parts = append(parts, "asks "+address)
	}
	for _, k := range []struct{ key, words string }{{"env", "with the variables"}, {"headers", "with the headers"}} {
		m := server.Object(k.key)
		var all []string
		for _, name := range m.Keys() {
			value, _ := m.Get(name).(string)
			all = append(all, name+"="+value)
		}
		if len(all) > 0 {
			parts = append(parts, k.words+" "+strings.Join(all, " "))
		}
	}
	if hosts, _ := server.Get("network").([]any); len(hosts) > 0 {
		names := make([]string, len(hosts))
		for i, host := range hosts {
			names[i], _ = host.(string)
		}
		parts = append(parts, "may reach "+strings.Join(names, " "))
	}
	if cwd, _ := server.Get("cwd").(string); cwd != "" {
		parts = append(parts, "in "+cwd)
	}
	known := []string{"command", "args", "url", "env", "headers", "network", "cwd", "type", "transport"}
	for _, key := range server.Keys() {
		if value := server.Get(key); value == nil || key == "enabled" && value == true || slices.Contains(known, key) {
			continue
		}
		raw, err := schema.Encode(server.Get(key))
		if err != nil {
			return "", err
		}
		parts = append(parts, key+" "+string(raw))
	}
	return strings.Join(parts, ", "), nil
}

// read returns the project's file, nil if there is none that can be used: a link
// that leads out of the project is not followed, and only a regular file is
// read.
func (p Project) read() ([]byte, error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	if st, err := root.Lstat(ProjectConfig); err != nil || !st.Mode().IsRegular() {
		return nil, nil
	}
	f, err := root.OpenFile(ProjectConfig, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil // it cannot be used, as if it were not there
	}
	return readConfig(f)
}

// answers reads the user's answers, by project.
func (p Project) answers() (map[string]string, error) {
	out := map[string]string{}
	raw, err := os.ReadFile(p.Answers)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read which projects may use MCP servers")
	}
	return out, nil
}

// keep writes the answers, whole or not at all.
func (p Project) keep(answers map[string]string) error {
	raw, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.Answers), ".answers-*") // 0600
	if err != nil {
		return fault.Wrap(err, fault.Denied, "keep the answer about MCP servers")
	}
	defer os.Remove(f.Name()) // gone already after the rename
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), p.Answers)
	}
	return fault.Wrap(err, fault.Full, "keep the answer about MCP servers")
}
