package security

import (
	"context"

	"github.com/deft-dev/deft/event"
)

// Rails is the PolicyRailSecurityAnalyzer: structures of shell commands that
// are hardly ever wanted. They are fetch-to-exec (what comes from the network
// is run), raw-disk-op (a file system is made, a device written to) and
// catastrophic-delete (a recursive delete of the system or of a home). One
// that is found is HIGH. A command with structure that matters and cannot be
// known is UNKNOWN. LOW says that no rail was broken, not that it is safe.
//
// Of a pipe from the network it minds what may run it: filters such as jq or
// head are let pass, where the reference minds every program.
type Rails struct{}

// Name implements [Analyzer].
func (Rails) Name() string { return "PolicyRailSecurityAnalyzer" }

// MarshalJSON implements [Analyzer].
func (r Rails) MarshalJSON() ([]byte, error) { return bare(r.Name()) }

// Assess implements [Analyzer].
func (Rails) Assess(_ context.Context, a *event.ActionEvent) (Assessment, error) {
	s := segmentsOf(a)
	if s.size > maxContent {
		return Assessment{event.RiskUnknown, map[string]any{"reason": "the action is too large to be read"}}, nil
	}
	switch f := judgeSegments(s); {
	case f.rule != "":
		return because(event.RiskHigh, f.rule, f.reason), nil
	case f.unclear != "":
		return Assessment{event.RiskUnknown, map[string]any{"reason": f.unclear}}, nil
	}
	return Assessment{Risk: event.RiskLow}, nil
}

// relevant is a cheap test of texts that are no commands: most arguments of
// tools name nothing that a rail minds.
var relevant = lazily(`\b(rm|dd|mkfs\S*|curl|wget|nc|ncat|wipefs|shred|eval|find)\b|/dev/|base64|xargs`)

// judgeSegments reads the command of an action, and its other texts as far as
// they are scripts: in those only what is certain counts, because most of them
// are prose, paths and other languages.
func judgeSegments(s segments) findings {
	f := judgeCommand(s.command)
	for _, text := range s.others {
		if f.rule != "" {
			break
		}
		if !relevant().MatchString(text) {
			continue
		}
		j := newJudge()
		j.script(text, static(""), false)
		f.recursiveDelete = f.recursiveDelete || j.recursiveDelete
		f.rule, f.reason = j.rule, j.reason
	}
	return f
}

// judgeCommand reads what a shell would run.
func judgeCommand(command string) findings {
	j := newJudge()
	if command != "" {
		j.script(command, static(""), true)
	}
	return j.findings
}
