package awscred

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/llm"
)

// TestConfigured checks that settings of the caller override the environment.
func TestConfigured(t *testing.T) {
	t.Parallel()
	own := llm.AWS{AccessKeyID: "SELF", SecretAccessKey: "s", SessionToken: "own"}
	role := func(a llm.AWS, session string) llm.AWS { a.Role, a.SessionName = "arn:given", session; return a }
	for name, tt := range map[string]struct {
		given   llm.AWS
		env     map[string]string
		id      string
		session string
		asked   []string
	}{
		"nothing":           {llm.AWS{}, nil, "E", "", nil},
		"region only":       {llm.AWS{Region: "eu-west-1"}, nil, "E", "", nil},
		"keys":              {own, nil, "SELF", "own", nil},
		"keys, no session":  {llm.AWS{AccessKeyID: "SELF", SecretAccessKey: "s"}, map[string]string{"AWS_SESSION_TOKEN": "other"}, "SELF", "", nil},
		"profile":           {llm.AWS{Profile: "plain"}, nil, "W", "WT", nil},
		"profile over keys": {llm.AWS{Profile: "plain", AccessKeyID: "SELF", SecretAccessKey: "s"}, nil, "W", "WT", nil},
		"role":              {role(own, "me"), nil, "ROLE-1", "a&b", []string{"AssumeRole arn:given by SELF me"}},
		"role of others":    {role(llm.AWS{Profile: "plain"}, ""), nil, "ROLE-1", "a&b", []string{"AssumeRole arn:given by E deft-1795262400"}},
		"role that it is": {
			role(llm.AWS{}, ""), map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/jwt", "AWS_ROLE_ARN": "arn:given"},
			"ROLE-1", "a&b", []string{"AssumeRoleWithWebIdentity arn:given by unsigned web-token deft-1795262400"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startAmazon(t)
			a.files(t)
			env := map[string]string{"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "s"}
			maps.Copy(env, a.filled(tt.env))
			c := a.chain(env)
			c.env = Configured(tt.given, c.env)
			if tt.given.Region != "" && c.env("AWS_REGION") != tt.given.Region {
				t.Error("the region is not taken")
			}
			got, err := c.Get(t.Context())
			if err != nil || got.ID != tt.id || got.Session != tt.session {
				t.Fatalf("%q %q, %v", got.ID, got.Session, err)
			}
			if diff := cmp.Diff(tt.asked, a.asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfiguredDistinguishesCallers checks that callers with different
// settings do not share credentials.
func TestConfiguredDistinguishesCallers(t *testing.T) {
	t.Parallel()
	env := func(string) string { return "" }
	var seen []*Chain
	for _, a := range []llm.AWS{
		{},
		{AccessKeyID: "a", SecretAccessKey: "b"},
		{AccessKeyID: "a", SecretAccessKey: "c"},
		{AccessKeyID: "a", SecretAccessKey: "b", Role: "r"},
		{AccessKeyID: "a", SecretAccessKey: "b", Role: "r", SessionName: "s"},
		{Profile: "p"},
	} {
		c := Shared(Configured(a, env))
		if slices.Contains(seen, c) {
			t.Errorf("%+v shares the keys of another", a)
		}
		seen = append(seen, c)
	}
}
