package security

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Pattern is a signature: a regular expression (RE2, letters of either case), its
// meaning, and its stable id. Its JSON is a list of the three.
type Pattern [3]string

// Patterns is the PatternSecurityAnalyzer: it searches texts for signatures.
// Dangerous commands are searched for in the arguments, attempts at prompt
// injection also in the model's text. Create one with [NewPatterns].
type Patterns struct {
	lists [4][]Pattern
	find  [4][]*regexp.Regexp
}

// The lists of patterns, in the order in which they are tried; an earlier HIGH
// wins over a MEDIUM.
const (
	high = iota
	injectionHigh
	medium
	injectionMedium
)

// defaults are the lists of the reference.
func defaults() [4][]Pattern {
	return [4][]Pattern{
		high: {
			{`\brm\s+(?:-[frR]{2,}|-[rR]\s+-f|-f\s+-[rR]|--recursive\s+--force|--force\s+--recursive)\b`, "Recursive force-delete (rm -rf variants)", "exec.destruct.rm_rf"},
			{`\bsudo\s+rm\b`, "Privileged file deletion", "exec.destruct.sudo_rm"},
			{`\bmkfs\.\w+`, "Filesystem format command", "exec.destruct.mkfs"},
			{`\bdd\b.{0,100}of=/dev/`, "Raw disk write", "exec.destruct.dd_raw_disk"},
			{`\beval\s*\(`, "Dynamic code evaluation", "exec.code.eval_call"},
			{`\bexec\s*\(`, "Dynamic code execution", "exec.code.exec_call"},
			{`\bos\.system\s*\(`, "OS-level command execution", "exec.code.os_system"},
			{`\bsubprocess\.(?:call|run|Popen|check_output|check_call)\s*\(`, "Subprocess invocation", "exec.code.subprocess"},
			{`\bcurl\b[^|]{0,200}\|\s*(?:ba)?sh\b`, "Download and run (curl | sh)", "exec.net.curl_pipe_exec"},
			{`\bwget\b[^|]{0,200}\|\s*(?:ba)?sh\b`, "Download and run (wget | sh)", "exec.net.wget_pipe_exec"},
		},
		medium: {
			{`\bcurl\b.{0,100}https?://`, "HTTP request via curl", "exec.net.curl"},
			{`\bwget\b.{0,100}https?://`, "Download via wget", "exec.net.wget"},
		},
		injectionHigh: {
			{`\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+)?(?:previous|prior|above)\s+(?:instructions?|prompts?|rules?|directives?)\b`, "Instruction override attempt", "inject.override"},
		},
		injectionMedium: {
			{`\byou\s+are\s+now\s+(?:in\s+)?(?:\w+\s+)?mode\b`, "Mode switching attempt", "inject.mode_switch"},
			{`\bpretend\s+(?:you\s+are|to\s+be)\s+(?:a\s+)?different\b`, "Identity manipulation", "inject.identity"},
		},
	}
}

// NewPatterns returns the analyzer with the reference's patterns.
func NewPatterns() *Patterns {
	p, err := compile(defaults())
	if err != nil {
		panic("security: " + err.Error()) // the constants above; a test compiles them
	}
	return p
}

func compile(lists [4][]Pattern) (*Patterns, error) {
	p := &Patterns{lists: lists}
	for i, list := range lists {
		for n, pattern := range list {
			re, err := regexp.Compile("(?i)" + pattern[0])
			if err != nil {
				return nil, fault.New(fault.Invalid, fmt.Sprintf("%s.%d: the pattern is not a supported regular expression: %v", fields[i], n, err))
			}
			p.find[i] = append(p.find[i], re)
		}
	}
	return p, nil
}

// fields are the names of the lists in JSON.
var fields = [4]string{high: "high_patterns", injectionHigh: "injection_high_patterns", medium: "medium_patterns", injectionMedium: "injection_medium_patterns"}

// Name implements [Analyzer].
func (*Patterns) Name() string { return "PatternSecurityAnalyzer" }

// Assess implements [Analyzer]. Beside the patterns it reads commands as a
// shell does, so that a quoted or nested rm -rf is found, and find -delete, decoded
// text that a shell runs, and settings of git that run a command.
func (p *Patterns) Assess(_ context.Context, a *event.ActionEvent) (Assessment, error) {
	s := segmentsOf(a)
	if s.size > maxContent {
		return Assessment{Risk: event.RiskUnknown, Details: map[string]any{"reason": "the action is too large to be analyzed"}}, nil
	}
	run := normalize(s.executable())
	all := run + " " + normalize(spoken(a))
	text := [4]string{high: run, injectionHigh: all, medium: run, injectionMedium: all}
	for _, list := range []int{high, injectionHigh} {
		if got, ok := p.match(list, text[list], event.RiskHigh); ok {
			return got, nil
		}
	}
	seen := readSegments(s)
	if seen.sign.rule != "" {
		return because(event.RiskHigh, seen.sign.rule, seen.sign.reason), nil
	}
	for _, list := range []int{medium, injectionMedium} {
		if got, ok := p.match(list, text[list], event.RiskMedium); ok {
			return got, nil
		}
	}
	if seen.hiddenDelete {
		return because(event.RiskUnknown, "exec.destruct.rm_rf", "an unknown command has the options of a recursive delete"), nil
	}
	return Assessment{Risk: event.RiskLow}, nil
}

func (p *Patterns) match(list int, text string, r event.Risk) (Assessment, bool) {
	i := slices.IndexFunc(p.find[list], func(re *regexp.Regexp) bool { return re.MatchString(text) })
	if i < 0 {
		return Assessment{}, false
	}
	return because(r, p.lists[list][i][2], p.lists[list][i][1]), true
}

func because(r event.Risk, rule, reason string) Assessment {
	return Assessment{Risk: r, Details: map[string]any{"rule": rule, "reason": reason}}
}

type patternsJSON struct {
	High            []Pattern `json:"high_patterns"`
	Medium          []Pattern `json:"medium_patterns"`
	InjectionHigh   []Pattern `json:"injection_high_patterns"`
	InjectionMedium []Pattern `json:"injection_medium_patterns"`
	Kind            string    `json:"kind"`
}

// MarshalJSON implements [Analyzer].
func (p *Patterns) MarshalJSON() ([]byte, error) {
	return json.Marshal(patternsJSON{p.lists[high], p.lists[medium], p.lists[injectionHigh], p.lists[injectionMedium], p.Name()})
}

func parsePatterns(raw []byte) (Analyzer, error) {
	d := defaults()
	in := patternsJSON{d[high], d[medium], d[injectionHigh], d[injectionMedium], ""}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, wrongType(err)
	}
	return compile([4][]Pattern{high: in.High, medium: in.Medium, injectionHigh: in.InjectionHigh, injectionMedium: in.InjectionMedium})
}
