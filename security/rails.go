package security

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Rails is the PolicyRailSecurityAnalyzer. It finds structures of shell commands
// that are hardly ever intended: fetch-to-exec (content from the network is
// run), raw-disk-op (a file system is created or a device is written to) and
// catastrophic-delete (a recursive delete of the system or of a home
// directory). A match is HIGH. A command that depends on unknown values where it
// matters is UNKNOWN. LOW means that no rail matched, not that the command is
// safe.
//
// Content from the network may be piped into filters such as jq or head, which
// do not run it. The reference reports every program at the end of such a pipe.
type Rails struct{}

// Name implements [Analyzer].
func (Rails) Name() string { return "PolicyRailSecurityAnalyzer" }

// MarshalJSON implements [Analyzer].
func (r Rails) MarshalJSON() ([]byte, error) { return bare(r.Name()) }

// Assess implements [Analyzer].
func (Rails) Assess(_ context.Context, a *event.ActionEvent) (Assessment, error) {
	s := segmentsOf(a)
	if s.size > maxContent {
		return Assessment{Risk: event.RiskUnknown, Details: map[string]any{"reason": "the action is too large to be analyzed"}}, nil
	}
	switch f := readSegments(s); {
	case f.rule != "":
		return because(event.RiskHigh, f.rule, f.reason), nil
	case f.unclear != "":
		return Assessment{Risk: event.RiskUnknown, Details: map[string]any{"reason": f.unclear}}, nil
	}
	return Assessment{Risk: event.RiskLow}, nil
}

// relevant is a cheap test for texts other than commands: most arguments of
// tools mention nothing that matters to a rail.
var relevant = lazyregexp.New(`\b(rm|dd|mkfs\S*|curl|wget|nc|ncat|socat|telnet|wipefs|shred|eval|find|rsync|git)\b|/dev/|base64|xargs`)

// readSegments reads the command of an action, and its other texts in case they
// are scripts. In those only certain findings count, because most of them are
// prose, paths or other languages.
func readSegments(s segments) findings {
	f := readCommand(s.command)
	for _, text := range s.others {
		if f.rule != "" {
			break
		}
		if !relevant().MatchString(text) {
			continue
		}
		cr := newCommandReader()
		cr.script(text, static(""), false)
		f.show(cr.sign)
		f.rule, f.reason = cr.rule, cr.reason
	}
	return f
}

// readCommand reads a command as a shell would.
func readCommand(command string) findings {
	cr := newCommandReader()
	if command != "" {
		cr.script(command, static(""), true)
	}
	return cr.findings
}
