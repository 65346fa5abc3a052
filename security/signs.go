package security

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Signs that Patterns finds by reading commands, beside the patterns of the
// reference. A command that shows one of these signs is HIGH whatever it does in
// the end, because its text hides its effect, or deletes like rm -rf.
var (
	signDelete     = sign{"exec.destruct.rm_rf", "Recursive force-delete (rm -rf variants)"}
	signFindDelete = sign{"exec.destruct.find_delete", "find deletes what it finds"}
	signDecoded    = sign{"exec.code.decoded_script", "A shell runs decoded text"}
	signGitCommand = sign{"exec.code.git_config", "A setting of git runs a command"}
)

// sign is a rule and its meaning.
type sign struct{ rule, reason string }

// show notes the first sign.
func (f *findings) show(s sign) {
	if f.sign.rule == "" {
		f.sign = s
	}
}

// gitCommand matches settings of git, as key=value, that make it run a command. A
// pager or an editor that is a plain word, such as cat, is none, and neither is a
// helper for credentials by its name.
var gitCommand = lazyregexp.New(`(?is)^(?:` +
	`core\.(?:sshcommand|gitproxy|askpass|hookspath|alternaterefscommand)=.` +
	`|core\.fsmonitor=(?:[^tf]|t[^r]|f[^a])` + // true and false switch a built-in one
	`|(?:core\.(?:pager|editor)|sequence\.editor|pager\.[^=]+)=.*[^\w-]` +
	`|alias\.[^=]+=\s*!` +
	`|diff\.external=.|(?:diff|merge|filter)\..*\.(?:command|textconv|driver|clean|smudge|process)=.` +
	`|credential\.(?:.*\.)?helper=.*[^\w-]` +
	`|(?:uploadpack\.packobjectshook|gpg\.(?:.*\.)?program|remote\..*\.(?:uploadpack|receivepack|vcs)|protocol\.ext\.allow)=.` +
	`)`)

// gitVariables are variables of the environment that do the same.
var gitVariables = set("GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF")

// gitSettings looks for settings that run a command: -c key=value, --config-env and
// git config key value.
func gitSettings(cr *commandReader, args []text) {
	for i, a := range args {
		setting := ""
		key, named := strings.CutPrefix(a.s, "--config-env=")
		switch {
		case named: // the value is in a variable
			key, _, _ = strings.Cut(key, "=")
			setting = key + "=!/"
		case a.s == "-c" && i+1 < len(args):
			setting = args[i+1].s
			if !args[i+1].known {
				setting += "!/"
			}
		case a.s == "config":
			rest := afterOptions(args[i+1:], []string{"-f", "--file", "--type", "--default", "--comment"})
			if len(rest) > 0 && rest[0].s == "set" {
				rest = afterOptions(rest[1:], nil)
			}
			if len(rest) > 1 {
				setting = rest[0].s + "=" + rest[1].s
			}
		}
		if setting != "" && gitCommand().MatchString(setting) {
			cr.show(signGitCommand)
		}
	}
}
