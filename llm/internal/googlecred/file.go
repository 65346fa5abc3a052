package googlecred

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// assertionLife is Google's maximum validity of an assertion.
const assertionLife = time.Hour

// tokenURI is the default address to fetch tokens.
const tokenURI = "https://oauth2.googleapis.com/token"

// file is a credentials file, of any type.
type file struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	QuotaProject string `json:"quota_project_id"`
	TokenURI     string `json:"token_uri"`

	// service_account
	ClientEmail  string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`

	// authorized_user
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	// external_account, see external.go
	Audience     string         `json:"audience"`
	SubjectType  string         `json:"subject_token_type"`
	TokenURL     string         `json:"token_url"`
	UserProject  string         `json:"workforce_pool_user_project"`
	ExternalFrom externalSource `json:"credential_source"`

	// impersonated_service_account, and external_account
	ActAs     string   `json:"service_account_impersonation_url"`
	Delegates []string `json:"delegates"`
	Source    *file    `json:"source_credentials"`
}

// grant returns the grant for the credentials of a file. path is its name in
// errors.
func (f *finder) grant(c *file, path string) (grant, error) {
	switch c.Type {
	case "service_account":
		key, err := parseKey(c.PrivateKey)
		if err != nil || c.ClientEmail == "" {
			return nil, broken(path)
		}
		return func(ctx context.Context) (token, error) { return f.account(ctx, c, key) }, nil
	case "authorized_user":
		if c.RefreshToken == "" || c.ClientID == "" {
			return nil, broken(path)
		}
		return func(ctx context.Context) (token, error) { return f.user(ctx, c) }, nil
	case "external_account":
		return f.external(c, path)
	case "impersonated_service_account":
		if c.Source == nil || c.ActAs == "" || c.Source.Type == c.Type {
			return nil, broken(path)
		}
		source, err := f.grant(c.Source, path)
		if err != nil {
			return nil, err
		}
		return f.actAs(c, source), nil
	}
	return nil, unsupported(fmt.Sprintf("type %q", c.Type))
}

// user renews a user's login (RFC 6749 section 6).
func (f *finder) user(ctx context.Context, c *file) (token, error) {
	return f.post(ctx, cmp.Or(c.TokenURI, tokenURI), url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {c.RefreshToken},
		"client_id": {c.ClientID}, "client_secret": {c.ClientSecret},
	})
}

// account exchanges an assertion signed by a service account for a token (RFC
// 7523).
func (f *finder) account(ctx context.Context, c *file, key *rsa.PrivateKey) (token, error) {
	at := cmp.Or(c.TokenURI, tokenURI)
	signed, err := assertion(c, at, key, f.now())
	if err != nil {
		return token{}, err
	}
	return f.post(ctx, at, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}})
}

// assertion is a JWT signed with RS256 (RFC 7515, RFC 7519).
func assertion(c *file, audience string, key *rsa.PrivateKey, now time.Time) (string, error) {
	head, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": c.PrivateKeyID})
	if err != nil {
		return "", fmt.Errorf("write assertion: %w", err)
	}
	claims, err := json.Marshal(map[string]any{
		"iss": c.ClientEmail, "scope": Scope, "aud": audience,
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("write assertion: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

var errKey = errors.New("no RSA key in PEM form")

func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errKey
	}
	if k, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return k, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errKey
	}
	k, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errKey
	}
	return k, nil
}

// actAs exchanges a token for one of another service account
// (https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken).
func (f *finder) actAs(c *file, source grant) grant {
	return func(ctx context.Context) (token, error) {
		own, err := source(ctx)
		if err != nil {
			return token{}, err
		}
		body, err := json.Marshal(map[string]any{"scope": []string{Scope}, "delegates": c.Delegates, "lifetime": "3600s"})
		if err != nil {
			return token{}, fmt.Errorf("write request: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.ActAs, bytes.NewReader(body))
		if err != nil {
			return token{}, fault.New(fault.Auth, "the Google Cloud credentials have no usable service_account_impersonation_url").Hint(hint)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+own.value)
		a, err := tokencache.Fetch(ctx, f.web, req, google)
		if err != nil {
			return token{}, err
		}
		var said struct {
			AccessToken string          `json:"accessToken"`
			ExpireTime  string          `json:"expireTime"`
			Error       json.RawMessage `json:"error"`
		}
		err = json.Unmarshal(a.Body, &said)
		if a.Status != http.StatusOK {
			code, message := failure(said.Error)
			return token{}, a.Refused(google, code, message).Hint("grant the role Service Account Token Creator on the service account")
		}
		until, timeErr := time.Parse(time.RFC3339, said.ExpireTime)
		if err != nil || timeErr != nil || said.AccessToken == "" || strings.ContainsAny(said.AccessToken, "\r\n") {
			return token{}, tokencache.Malformed(google)
		}
		return token{said.AccessToken, until}, nil
	}
}
