package awscred

import (
	"cmp"
	"context"

	"github.com/deft-dev/deft/llm"
)

// Settings without a variable of the AWS CLI have names here that are invalid
// in an environment, so that they are part of a chain's key.
const (
	givenRole    = "=role"
	givenSession = "=role session"
)

// Configured returns env with the settings of a overriding it
// (https://docs.litellm.ai/docs/providers/bedrock, "Authentication").
func Configured(a llm.AWS, env func(string) string) func(string) string {
	over := map[string]string{}
	if a.Region != "" {
		over["AWS_REGION"] = a.Region
	}
	switch {
	case a.Profile != "" && a.Role == "":
		over["AWS_PROFILE"] = a.Profile
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
			over[name] = ""
		}
	case a.AccessKeyID != "" || a.SecretAccessKey != "":
		over["AWS_ACCESS_KEY_ID"], over["AWS_SECRET_ACCESS_KEY"] = a.AccessKeyID.Reveal(), a.SecretAccessKey.Reveal()
		over["AWS_SESSION_TOKEN"] = a.SessionToken.Reveal()
	}
	if a.Role != "" {
		over[givenRole], over[givenSession] = a.Role, a.SessionName
	}
	if len(over) == 0 {
		return env
	}
	return func(name string) string {
		if v, ok := over[name]; ok {
			return v
		}
		return env(name)
	}
}

// resolve returns the credentials to sign with: the ones it found, or the
// credentials of the role assumed with them.
func (c *Chain) resolve(ctx context.Context) (Credentials, error) {
	cr, err := c.find(ctx)
	role := c.env(givenRole)
	if err != nil || role == "" {
		return cr, err
	}
	if c.env("AWS_WEB_IDENTITY_TOKEN_FILE") != "" && c.env("AWS_ROLE_ARN") == role && c.env("AWS_ACCESS_KEY_ID") == "" {
		return cr, nil // already the role's
	}
	s := &search{Chain: c}
	p := settings{"role_arn": role, "role_session_name": cmp.Or(c.env(givenSession), c.env("AWS_ROLE_SESSION_NAME"))}
	return s.assume(ctx, p, cr)
}
