package security_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/security"
)

// TestSigns are commands that the user is asked about with --confirm risky, although
// the model calls them harmless, and innocent ones that are close to them.
func TestSigns(t *testing.T) {
	t.Parallel()
	const none = ""
	analyzers := security.Ensemble{Analyzers: []security.Analyzer{security.NewPatterns(), security.Rails{}}}
	for _, tt := range []struct{ rule, command string }{
		{"exec.code.decoded_script", `base64 -d payload | sh`},
		{"exec.code.decoded_script", `base64 -d payload|bash -s`},
		{"exec.code.decoded_script", `echo bHM= | base64 --decode | sh`},
		{"exec.code.decoded_script", `cat payload | base64 -d | bash -`},
		{"exec.code.decoded_script", `sh <(base64 -d payload)`},
		{"exec.code.decoded_script", `sh -c "$(base64 -d payload)"`},
		{"exec.code.decoded_script", `eval "$(base64 -d payload)"`},
		{"exec.code.decoded_script", `. <(base64 -d payload)`},
		{"exec.code.decoded_script", `base64 -d payload > x; sh x`},
		{"exec.code.decoded_script", `xxd -r -p payload | sh`},
		{"exec.code.decoded_script", `openssl base64 -d -in payload | sh`},
		{"exec.code.decoded_script", `openssl enc -d -aes-256-cbc -k x -in payload | sh`},
		{"exec.code.decoded_script", `base32 -d payload | sudo sh`},
		{"exec.destruct.find_delete", `find . -delete`},
		{"exec.destruct.find_delete", `find build -name '*.o' -delete`},
		{"exec.destruct.find_delete", `cd src && find . -type f -exec rm {} +`},
		{"exec.code.git_config", `git -c core.sshCommand=./x fetch`},
		{"exec.code.git_config", `git -c core.sshCommand='sh -c id' pull`},
		{"exec.code.git_config", `git -c CORE.SSHCOMMAND=x pull`},
		{"exec.code.git_config", `git -c "core.sshCommand=$X" pull`},
		{"exec.code.git_config", `git --config-env=core.sshCommand=X fetch`},
		{"exec.code.git_config", `git config core.sshCommand ./x`},
		{"exec.code.git_config", `git config set --global core.hooksPath ./x`},
		{"exec.code.git_config", `git -c core.fsmonitor=./x status`},
		{"exec.code.git_config", `git -c core.pager='sh -c id' log`},
		{"exec.code.git_config", `git -c alias.x='!./a' x`},
		{"exec.code.git_config", `git -c filter.x.smudge=./a checkout .`},
		{"exec.code.git_config", `GIT_SSH_COMMAND=./x git fetch`},
		{"exec.code.git_config", `env GIT_SSH=./x git fetch`},
		{none, `base64 -d payload > out.png`},
		{none, `base64 -d payload | jq .`},
		{none, `base64 script.sh | cat`},
		{none, `find . -name '*.go'`},
		{none, `find . -name '*.go' -exec gofmt -l {} +`},
		{none, `git fetch`},
		{none, `git -c core.pager=cat log`},
		{none, `git -c core.fsmonitor=false status`},
		{none, `git -c core.editor=true rebase --continue`},
		{none, `git -c user.name=x -c user.email=y@z commit -m w`},
		{none, `git -c alias.st=status st`},
		{none, `git -c credential.helper= fetch`},
		{none, `git config user.name x`},
		{none, `git config --get core.sshCommand`},
		{none, `git log --grep='core.sshCommand=x'`},
	} {
		got := security.Analyze(t.Context(), analyzers, []*event.ActionEvent{command(tt.command)})[0]
		details, _ := got.Details["PatternSecurityAnalyzer"].(map[string]any)
		rule, _ := details["rule"].(string)
		want := event.RiskHigh
		if tt.rule == none {
			want = event.RiskLow
		}
		if got.Risk != want || rule != tt.rule {
			t.Errorf("%s: %s by %q, want %s by %q (%v)", tt.command, got.Risk, rule, want, tt.rule, got.Details)
		}
	}
}
