package v0

import "testing"

func TestIgnoreRules(t *testing.T) {
	t.Parallel()
	rules := ignoreRules{"*.log", "!keep.log", "out/", "/top", "/a/b", "deep/*.txt"}
	for name, want := range map[string]bool{
		"x.log": true, "sub/x.log": true, "keep.log": false, "out/x": true, "sub/out/x": true, "top": true, "sub/top": false,
		"top/x": true, "a/b": true, "x/a/b": false, "deep/x.txt": true, "deep/more/x.txt": false, "y": false,
	} {
		if got := rules.ignores(name, false); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if rules.ignores("out", false) || !rules.ignores("out", true) {
		t.Error("a rule for directories is taken for a file, or not for a directory")
	}
}

func FuzzIgnoreRules(f *testing.F) {
	f.Add("!/a/**/", "a/b")
	f.Add("/", "")
	f.Fuzz(func(_ *testing.T, rule, name string) { ignoreRules{rule}.ignores(name, false) })
}
