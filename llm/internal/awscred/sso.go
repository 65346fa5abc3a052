package awscred

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// login is the file written by `aws sso login`
// (https://docs.aws.amazon.com/sdkref/latest/guide/understanding-sso.html).
type login struct {
	path         string
	AccessToken  string `json:"accessToken"`
	ExpiresAt    string `json:"expiresAt"`
	RefreshToken string `json:"refreshToken"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	ClientUntil  string `json:"registrationExpiresAt"`
	all          map[string]any
}

// sso fetches the credentials of the profile's role from IAM Identity Center
// with the token of a login.
func (s *search) sso(ctx context.Context, name string, p settings) (Credentials, error) {
	section, key := p, p["sso_start_url"]
	if session := p["sso_session"]; session != "" {
		if section, key = s.shared.sessions[session], session; section == nil {
			return Credentials{}, fault.New(fault.Invalid, fmt.Sprintf("the sso_session %q of the AWS profile %q does not exist", session, name))
		}
	}
	region := CleanRegion(section["sso_region"])
	if region == "" || p["sso_account_id"] == "" || p["sso_role_name"] == "" {
		return Credentials{}, fault.New(fault.Invalid, fmt.Sprintf("the AWS profile %q lacks sso_region, sso_account_id or sso_role_name", name)).Hint("run: aws configure sso --profile " + name)
	}
	hint := "run: aws sso login --profile " + name
	l, err := readLogin(awsDir(s.env), key)
	if err != nil {
		return Credentials{}, fault.New(fault.Auth, fmt.Sprintf("the AWS profile %q is not logged in", name)).Because(err).Hint(hint)
	}
	if until, err := parseTime(l.ExpiresAt); err != nil || !s.now().Before(until.Add(-margin)) {
		if err := s.renew(ctx, l, region, p); err != nil {
			if ctx.Err() != nil || fault.KindOf(err) == fault.Unavailable {
				return Credentials{}, err
			}
			return Credentials{}, fault.New(fault.Auth, fmt.Sprintf("the login for the AWS profile %q has expired", name)).Because(err).Hint(hint)
		}
	}
	return s.roleOf(ctx, l, region, p, hint)
}

// roleOf is the operation GetRoleCredentials.
func (s *search) roleOf(ctx context.Context, l *login, region string, p settings, hint string) (Credentials, error) {
	const service = "AWS IAM Identity Center"
	query := url.Values{"account_id": {p["sso_account_id"]}, "role_name": {p["sso_role_name"]}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		s.endpoint("SSO", "portal.sso."+region+"."+Domain(region), p)+"/federation/credentials?"+query.Encode(), nil)
	if err != nil {
		return Credentials{}, fault.New(fault.Invalid, "the address of "+service+" is not a URL").Hint("check AWS_ENDPOINT_URL_SSO")
	}
	req.Header.Set("X-Amz-Sso_bearer_token", l.AccessToken)
	a, err := tokencache.Fetch(ctx, s.web, req, service)
	if err != nil {
		return Credentials{}, err
	}
	var said struct {
		Message string `json:"message"`
		Keys    struct {
			ID      string `json:"accessKeyId"`
			Secret  string `json:"secretAccessKey"`
			Session string `json:"sessionToken"`
			Until   int64  `json:"expiration"` // milliseconds since 1970
		} `json:"roleCredentials"`
	}
	err = json.Unmarshal(a.Body, &said)
	if a.Status != http.StatusOK {
		return Credentials{}, a.Refused(service, "", said.Message).Hint(hint + "; check sso_account_id and sso_role_name")
	}
	cr := Credentials{ID: said.Keys.ID, Secret: said.Keys.Secret, Session: said.Keys.Session, Expires: time.UnixMilli(said.Keys.Until)}
	if err != nil || !cr.complete() || said.Keys.Until <= 0 {
		return Credentials{}, tokencache.Malformed(service)
	}
	return cr, nil
}

// readLogin reads the file of a session or, in the older form, of a start URL.
func readLogin(dir, key string) (*login, error) {
	sum := sha1.Sum([]byte(key)) // only names the file
	l := &login{path: filepath.Join(dir, "sso", "cache", hex.EncodeToString(sum[:])+".json")}
	data, err := tokencache.ReadFile(l.path)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, l) != nil || json.Unmarshal(data, &l.all) != nil || l.AccessToken == "" {
		return nil, fmt.Errorf("%s contains no token", l.path) // the cause may quote it
	}
	return l, nil
}

// renew fetches a new token for a login that can be renewed, and stores it for
// the AWS CLI: the old one may no longer be valid
// (https://docs.aws.amazon.com/singlesignon/latest/OIDCAPIReference/API_CreateToken.html).
func (s *search) renew(ctx context.Context, l *login, region string, p settings) error {
	const service = "AWS IAM Identity Center (OIDC)"
	if until, err := parseTime(l.ClientUntil); l.RefreshToken == "" || l.ClientID == "" || err != nil || !s.now().Before(until) {
		return fault.New(fault.Auth, "it cannot be renewed")
	}
	body, err := json.Marshal(map[string]string{
		"grantType": "refresh_token", "clientId": l.ClientID, "clientSecret": l.ClientSecret, "refreshToken": l.RefreshToken,
	})
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint("SSO_OIDC", "oidc."+region+"."+Domain(region), p)+"/token", bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Invalid, "the address of "+service+" is not a URL").Hint("check AWS_ENDPOINT_URL_SSO_OIDC")
	}
	req.Header.Set("Content-Type", "application/json")
	a, err := tokencache.Fetch(ctx, s.web, req, service)
	if err != nil {
		return err
	}
	var said struct {
		AccessToken  string `json:"accessToken"`
		RefreshToken string `json:"refreshToken"`
		ExpiresIn    int64  `json:"expiresIn"` // seconds
		Error        string `json:"error"`
		Description  string `json:"error_description"`
	}
	err = json.Unmarshal(a.Body, &said)
	if a.Status != http.StatusOK {
		return a.Refused(service, said.Error, said.Description)
	}
	if err != nil || said.AccessToken == "" {
		return tokencache.Malformed(service)
	}
	l.AccessToken, l.RefreshToken = said.AccessToken, cmp.Or(said.RefreshToken, l.RefreshToken)
	return l.store(s.now().Add(time.Duration(said.ExpiresIn) * time.Second))
}

// store writes the login atomically, keeping unknown fields.
func (l *login) store(until time.Time) error {
	all := maps.Clone(l.all)
	all["accessToken"], all["refreshToken"], all["expiresAt"] = l.AccessToken, l.RefreshToken, until.UTC().Format(time.RFC3339)
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write login: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(l.path), ".deft-*") // mode 0600
	if err != nil {
		return fault.Wrap(err, fault.Auth, "store the new login")
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), l.path)
	}
	if err != nil {
		return fault.Wrap(errors.Join(err, os.Remove(f.Name())), fault.Auth, "store the new login")
	}
	return nil
}

// parseTime parses both formats of the AWS CLI.
func parseTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Parse("2006-01-02T15:04:05UTC", text)
}
