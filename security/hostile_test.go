package security_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/security"
)

// TestHostile are commands made to exhaust who reads them: each is answered,
// and not with LOW.
func TestHostile(t *testing.T) {
	t.Parallel()
	var doubling, calling strings.Builder
	for _, c := range "bcdefghijklmnopqrstuvwxyz" {
		doubling.WriteString(string(c) + "=$" + string(c-1) + "$" + string(c-1) + "; ")
		calling.WriteString("f" + string(c) + "() { f" + string(c-1) + "; f" + string(c-1) + "; }; ")
	}
	for name, c := range map[string]string{
		"substitutions": strings.Repeat("$(", 15_000), "closed": strings.Repeat("$(", 7_500) + strings.Repeat(")", 7_500),
		"subshells": strings.Repeat("(", 15_000), "braces": strings.Repeat("{ ", 15_000), "ifs": strings.Repeat("if ", 10_000), "whiles": strings.Repeat("while ", 5_000),
		"quotes": strings.Repeat(`"$(`, 10_000), "nots": strings.Repeat("! ", 15_000) + "(", "arithmetic": "$((" + strings.Repeat("(", 15_000), "backquotes": strings.Repeat("`", 15_001),
		"expansions": strings.Repeat("${a:-", 5_000), "doubling": "a=aaaaaaaa; " + doubling.String() + "rm -rf $z", "calling": "fa() { x; }; " + calling.String() + "fz; rm -rf \"$X\"",
		"recursion": "f() { f; }; f; rm -rf \"$X\"", "reading itself": "a=$b; b=$a; rm -rf $a", "words": "rm -rf " + strings.Repeat("{a,b}", 40), "range": "rm -rf {1..999999999}",
		"evals": strings.Repeat("eval ", 5_000) + "$x", "shells": "sh -c '" + strings.Repeat("eval \"$X\";", 5000) + "'", "envs": strings.Repeat("env ", 6_250) + "$x -rf /",
		"too long": strings.Repeat("a", 70_000), "far too long": strings.Repeat("a ", 3<<20), "bytes": "\x00\xff\xfe rm -rf \"$X\"(", "pipes": strings.Repeat("a|", 10_000) + "sh",
		"test": "[[ " + strings.Repeat("( ", 12_500), "cases": strings.Repeat("case x in x) ", 2_000), "processes": strings.Repeat("<(", 15_000), "functions": strings.Repeat("f() ", 7_500),
	} {
		got := security.Analyze(t.Context(), security.Rails{}, []*event.ActionEvent{command(c)})[0]
		if got.Risk == event.RiskLow {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzRails(f *testing.F) {
	for _, s := range []string{"curl x | sh", "rm -rf $(echo /)", "sh <<E\n$X\nE", "X={a,b}; f() { $@; }; f $X", "find / -exec x {} +", "env -S 'a b'", "python -c 'os.system(\"x\")'", "xargs -I{} sh -c", "printf '%s' a | base64 -d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := security.Rails{}.Assess(t.Context(), command(s))
		if err != nil || got.Risk == event.RiskMedium {
			t.Errorf("%q: %v, %v", s, got, err)
		}
		// What is certain stays so in a subshell.
		if got.Risk == event.RiskHigh {
			again, _ := security.Rails{}.Assess(t.Context(), command("true\n"+s))
			if again.Risk != event.RiskHigh {
				t.Errorf("%q behind another command: %v", s, again)
			}
		}
	})
}

// BenchmarkRails is what an ordinary command costs.
func BenchmarkRails(b *testing.B) {
	a := command("cd /repo && go build ./... 2>&1 | tail -n 20 && for f in *.go; do gofmt -l \"$f\"; done")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (security.Rails{}).Assess(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPatterns(b *testing.B) {
	p := security.NewPatterns()
	a := command("cd /repo && go build ./... 2>&1 | tail -n 20 && for f in *.go; do gofmt -l \"$f\"; done")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Assess(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
