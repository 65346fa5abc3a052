package executionserver

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// Flags are the flags of OpenHands' action_execution_server, as its runtimes
// pass them, and a few of our own.
type Flags struct {
	Port       string   `arg:"" optional:"" help:"Port to listen on."`
	WorkingDir string   `name:"working-dir" help:"Directory of the files and commands." placeholder:"DIR" type:"path"`
	Plugins    []string `help:"Plugins of OpenHands. Cells of jupyter run in a kernel that starts with the first one; they have the functions of agent_skills; vscode has no effect, and the log says what there is instead." placeholder:"NAME"`
	Username   string   `help:"User that commands see as USER." placeholder:"NAME"`
	UserID     int      `name:"user-id" help:"User that the server becomes, if it is started by root (default: the user that starts it)." default:"-1" placeholder:"UID"`
	Browser    bool     `name:"enable-browser" help:"Whether pages can be browsed, where Chromium is installed." default:"true" negatable:""`
	EvalEnv    string   `name:"browsergym-eval-env" help:"Refused: environments of BrowserGym are not part of this server." hidden:""`
	Host       string   `help:"Address to listen on (default: all with a key in SESSION_API_KEY, else 127.0.0.1)." placeholder:"ADDRESS"`
	FileRoot   []string `name:"file-root" help:"Further directory whose files clients may read and write, beside the working directory and the one for temporary files. May be repeated." placeholder:"DIR" type:"path"`
}

// KeyVariable holds the key that clients send.
const KeyVariable = "SESSION_API_KEY"

// plugins are the reference's, with why one has no effect here, and what there is in its place. The
// reference's clients name them all, so none is an error. The kernel of jupyter starts with the first cell.
var plugins = map[string]string{
	skillsPlugin: "", // see Skills
	"jupyter":    "",
	"vscode":     "this server starts no VS Code and answers with no token; deft agent-server and deft serve offer VS Code of their sandboxes",
}

// Skills reports whether cells have the functions of the plugin agent_skills.
func (f *Flags) Skills() bool { return slices.Contains(f.Plugins, skillsPlugin) }

// Absent says why a plugin has no effect, and what there is in its place; empty for one that works.
func Absent(plugin string) string { return plugins[plugin] }

// Address returns the port and the address to listen on.
func (f *Flags) Address(key string) (address string, err error) {
	port, err := strconv.ParseUint(f.Port, 10, 16)
	if err != nil {
		return "", fault.New(fault.Invalid, fmt.Sprintf("the port %.50q is not a number from 0 to 65535", f.Port))
	}
	for _, name := range f.Plugins {
		if _, known := plugins[name]; !known {
			return "", fault.New(fault.Invalid, fmt.Sprintf("Plugin %.50s not found", name)).Hint("known are " + strings.Join(slices.Sorted(maps.Keys(plugins)), ", "))
		}
	}
	if f.EvalEnv != "" {
		return "", fault.New(fault.Unsupported, "--browsergym-eval-env needs BrowserGym, which this server does not have")
	}
	if f.WorkingDir == "" {
		return "", fault.New(fault.Invalid, "--working-dir is missing")
	}
	host := f.Host
	switch {
	case host == "" && key == "":
		host = "127.0.0.1"
	case host == "":
		host = "0.0.0.0"
	case key == "" && !loopback(host):
		return "", fault.New(fault.Invalid, "without a key the action server listens on this machine only: anyone who reaches it can run commands").
			Hint("set " + KeyVariable)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}

// Become makes this process run as another user, who owns the working directory.
func (f *Flags) Become() error {
	if f.UserID < 0 || f.UserID == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return fault.New(fault.Denied, fmt.Sprintf("only root can become the user %d of --user-id", f.UserID))
	}
	return errors.Join(os.Chown(f.WorkingDir, f.UserID, f.UserID), unix.Setgroups(nil), unix.Setgid(f.UserID), unix.Setuid(f.UserID))
}

// Environment is the environment of commands: without the key, which would give them to whoever
// reads it from them.
func (f *Flags) Environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, KeyVariable+"=") })
	if f.Username != "" {
		env = append(env, "USER="+f.Username, "LOGNAME="+f.Username)
	}
	return env
}
