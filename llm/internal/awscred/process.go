package awscred

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// fromProcess returns the credentials of a profile that begin with a credential_process,
// also those of a role that is assumed with them; nil for other profiles. The SDK would give
// the program the whole environment.
func fromProcess(cfg aws.Config, p *config.SharedConfig, session string) aws.CredentialsProvider {
	var found aws.CredentialsProvider
	switch {
	case p.Source != nil:
		found = fromProcess(cfg, p.Source, session)
	case p.CredentialProcess != "" && !p.Credentials.HasKeys() && p.CredentialSource == "" && p.WebIdentityTokenFile == "" &&
		p.SSOSessionName == "" && p.SSOStartURL == "" && p.LoginSession == "":
		found = processcreds.NewProviderCommand(processcreds.NewCommandBuilderFunc(func(ctx context.Context) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, "/bin/sh", "-c", p.CredentialProcess) // as the SDK does
			cmd.Env = withoutModelKeys(os.Environ())
			return cmd, nil
		}))
	}
	if found == nil || p.RoleARN == "" {
		return found
	}
	cfg.Credentials = found
	return stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), p.RoleARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = cmp.Or(p.RoleSessionName, session)
		if p.ExternalID != "" {
			o.ExternalID = &p.ExternalID
		}
		if p.RoleDurationSeconds != nil {
			o.Duration = *p.RoleDurationSeconds
		}
	})
}

// withoutModelKeys is the environment without the keys of language models, which the program
// does not need.
func withoutModelKeys(environ []string) []string {
	var out []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "LLM_") && !strings.HasSuffix(name, "_API_KEY") {
			out = append(out, pair)
		}
	}
	return out
}
