package awscred

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// exportHint is the alternative for settings that this package does not
// support.
const exportHint = "let the AWS CLI provide the keys: use a profile with `credential_process = aws configure export-credentials --profile %s --format process`"

// search is one search for credentials.
type search struct {
	*Chain
	shared *shared
	tried  []string // sources without keys
}

// find returns the first keys that are found.
func (c *Chain) find(ctx context.Context) (Credentials, error) {
	if cr, ok, err := c.environment(); ok {
		return cr, err
	}
	files, err := readShared(c.env)
	if err != nil {
		return Credentials{}, err
	}
	s := &search{Chain: c, shared: files}
	name := profileName(c.env)
	s.note("no keys in the environment")
	for _, look := range []func() (Credentials, bool, error){
		func() (Credentials, bool, error) { return s.role(ctx, name, nil) },
		func() (Credentials, bool, error) { return s.environmentIdentity(ctx) },
		func() (Credentials, bool, error) { return s.profile(ctx, name) },
		func() (Credentials, bool, error) { return s.container(ctx) },
		func() (Credentials, bool, error) { return s.instance(ctx) },
	} {
		if cr, ok, err := look(); ok || err != nil {
			return cr, err
		}
	}
	return Credentials{}, fault.New(fault.Auth, "there are no AWS credentials: "+strings.Join(s.tried, ", ")).
		Hint("set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; or run `aws configure` or `aws sso login`")
}

func (s *search) note(what string) { s.tried = append(s.tried, what) }

func (c *Chain) environment() (Credentials, bool, error) {
	cr := Credentials{ID: c.env("AWS_ACCESS_KEY_ID"), Secret: c.env("AWS_SECRET_ACCESS_KEY"), Session: c.env("AWS_SESSION_TOKEN")}
	switch {
	case cr.complete():
		return cr, true, nil
	case cr.ID != "":
		return Credentials{}, true, fault.New(fault.Auth, "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not").Hint("set both, or neither")
	}
	return Credentials{}, false, nil
}

// profile returns the credentials of a profile, except a role's.
func (s *search) profile(ctx context.Context, name string) (Credentials, bool, error) {
	p := s.shared.profiles[name]
	if p == nil {
		s.note(fmt.Sprintf("no profile %q in the shared files", name))
		return Credentials{}, false, nil
	}
	cr := Credentials{ID: p["aws_access_key_id"], Secret: p["aws_secret_access_key"], Session: p["aws_session_token"]}
	switch {
	case p["web_identity_token_file"] != "":
		cr, err := s.identity(ctx, p, identity{file: p["web_identity_token_file"], role: p["role_arn"], session: p["role_session_name"]})
		return cr, true, err
	case p["sso_session"] != "" || p["sso_start_url"] != "":
		cr, err := s.sso(ctx, name, p)
		return cr, true, err
	case cr.complete():
		return cr, true, nil
	case p["credential_process"] != "":
		cr, err := s.process(ctx, name, p["credential_process"])
		return cr, true, err
	case p["login_session"] != "":
		return Credentials{}, true, fault.New(fault.Unsupported, fmt.Sprintf("the AWS profile %q gets its keys by `aws login`, which is not supported", name)).
			Hint(fmt.Sprintf(exportHint, name))
	}
	s.note(fmt.Sprintf("the profile %q has none", name))
	return Credentials{}, false, nil
}

// role assumes the role of a profile, if it has one and a source of
// credentials. seen are the profiles that referred to this one.
func (s *search) role(ctx context.Context, name string, seen []string) (Credentials, bool, error) {
	p := s.shared.profiles[name]
	if p["role_arn"] == "" || p["web_identity_token_file"] != "" {
		return Credentials{}, false, nil
	}
	if slices.Contains(seen, name) {
		return Credentials{}, false, fault.New(fault.Invalid, "the AWS profiles name each other as source_profile: "+strings.Join(append(seen, name), ", "))
	}
	if p["mfa_serial"] != "" {
		return Credentials{}, false, fault.New(fault.Unsupported, fmt.Sprintf("the AWS profile %q requires a code of an MFA device", name)).
			Hint("export keys with: eval \"$(aws configure export-credentials --profile " + name + " --format env)\"")
	}
	source, err := s.source(ctx, name, append(seen, name))
	if err != nil {
		return Credentials{}, false, err
	}
	cr, err := s.assume(ctx, p, source)
	return cr, err == nil, err
}

// source finds the credentials with which a role is assumed.
func (s *search) source(ctx context.Context, name string, seen []string) (Credentials, error) {
	p := s.shared.profiles[name]
	from, kind := p["source_profile"], p["credential_source"]
	var cr Credentials
	var ok bool
	var err error
	switch {
	case from != "" && kind != "":
		err = fault.New(fault.Invalid, fmt.Sprintf("the AWS profile %q has both source_profile and credential_source", name))
	case from == name: // the role is assumed with the profile's own keys
		cr = Credentials{ID: p["aws_access_key_id"], Secret: p["aws_secret_access_key"], Session: p["aws_session_token"]}
		ok = cr.complete()
	case from != "":
		if s.shared.profiles[from] == nil {
			return cr, fault.New(fault.Invalid, fmt.Sprintf("the source_profile %q of the AWS profile %q does not exist", from, name))
		}
		if cr, ok, err = s.role(ctx, from, seen); !ok && err == nil {
			cr, ok, err = s.profile(ctx, from)
		}
	case kind == "Environment":
		cr, ok, err = s.environment()
	case kind == "EcsContainer":
		cr, ok, err = s.container(ctx)
	case kind == "Ec2InstanceMetadata":
		cr, ok, err = s.instance(ctx)
	default:
		err = fault.New(fault.Invalid, fmt.Sprintf("the AWS profile %q has role_arn, but neither a source_profile nor a known credential_source", name))
	}
	if err == nil && !ok {
		err = fault.New(fault.Auth, fmt.Sprintf("the AWS profile %q has no keys to assume its role with: %s", name, strings.Join(s.tried, ", "))).
			Hint("check its source_profile or credential_source")
	}
	return cr, err
}
