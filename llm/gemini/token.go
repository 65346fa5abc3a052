package gemini

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// cloudScope is what a token is asked for.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// Times of access tokens.
const (
	assertionLife = time.Hour       // the longest that Google takes
	refreshEarly  = 2 * time.Minute // before a token expires
)

// credentials is a credentials file of Google Cloud: a service account's key,
// or the one that "gcloud auth application-default login" writes.
type credentials struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	QuotaProject string `json:"quota_project_id"`
	ClientEmail  string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	key *rsa.PrivateKey
}

func readCredentials(path string) (*credentials, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Auth, "read the credentials of Google Cloud")
	}
	broken := fault.New(fault.Auth, "the credentials file of Google Cloud is not one").Hint("check GOOGLE_APPLICATION_CREDENTIALS")
	c := &credentials{TokenURI: "https://oauth2.googleapis.com/token"}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, broken // the cause may quote a secret
	}
	switch c.Type {
	case "service_account":
		if c.key, err = parseKey(c.PrivateKey); err != nil || c.ClientEmail == "" {
			return nil, broken
		}
	case "authorized_user":
		if c.RefreshToken == "" || c.ClientID == "" {
			return nil, broken
		}
	default:
		return nil, fault.New(fault.Unsupported, fmt.Sprintf("credentials of Google Cloud of type %q are not supported", c.Type)).
			Hint("use a service account's key, or set VERTEXAI_ACCESS_TOKEN")
	}
	return c, nil
}

func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fault.New(fault.Auth, "the private key is not in PEM form")
	}
	if k, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return k, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fault.New(fault.Auth, "the private key cannot be read")
	}
	k, ok := any.(*rsa.PrivateKey)
	if !ok {
		return nil, fault.New(fault.Auth, "the private key is not an RSA key")
	}
	return k, nil
}

// grant is the form that asks for an access token: RFC 7523 for a service
// account, RFC 6749 section 6 for a user.
func (c *credentials) grant(now time.Time) (url.Values, error) {
	if c.Type == "authorized_user" {
		return url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {c.RefreshToken},
			"client_id": {c.ClientID}, "client_secret": {c.ClientSecret},
		}, nil
	}
	signed, err := c.assertion(now)
	if err != nil {
		return nil, err
	}
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}}, nil
}

// assertion is a JWT signed with RS256 (RFC 7515, RFC 7519).
func (c *credentials) assertion(now time.Time) (string, error) {
	head, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": c.PrivateKeyID})
	if err != nil {
		return "", fmt.Errorf("write assertion: %w", err)
	}
	claims, err := json.Marshal(map[string]any{
		"iss": c.ClientEmail, "scope": cloudScope, "aud": c.TokenURI,
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("write assertion: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, c.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

// tokens hands out access tokens, asking for a new one shortly before the last
// expires. One call asks at a time; the others wait for what it gets.
type tokens struct {
	cloud *cloud
	end   *exchange.Endpoint
	// http is the adapters' own client and not that of the configuration: what
	// is exchanged for a token must not reach a log of the exchanges with models.
	http *http.Client
	now  func() time.Time

	turn    chan struct{} // holds one item while nobody asks
	current string        // owned by who holds the turn
	until   time.Time
}

func newTokens(end *exchange.Endpoint, c *cloud) *tokens {
	own := exchange.New(end.Provider, llm.Config{}, "").HTTP
	t := &tokens{cloud: c, end: end, http: own, now: time.Now, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// get returns a token. Errors are *llm.Error, except those of the connection.
func (t *tokens) get(ctx context.Context) (string, error) {
	switch {
	case t.cloud.token != "":
		return t.cloud.token, nil
	case t.cloud.why != nil:
		return "", llm.NewError(fault.KindOf(t.cloud.why), t.end.Provider, t.end.Model, "there is no access token", t.cloud.why).Hint(fault.HintOf(t.cloud.why))
	}
	select {
	case <-t.turn:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { t.turn <- struct{}{} }()
	if t.current != "" && t.now().Before(t.until) {
		return t.current, nil
	}
	token, life, err := t.ask(ctx)
	if err != nil {
		return "", err
	}
	t.current, t.until = token, t.now().Add(life-min(refreshEarly, life/2))
	return token, nil
}

func (t *tokens) ask(ctx context.Context) (string, time.Duration, error) {
	form, err := t.cloud.cred.grant(t.now())
	if err != nil {
		return "", 0, llm.NewError(fault.Auth, t.end.Provider, t.end.Model, "the access token cannot be asked for", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.cloud.cred.TokenURI, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, t.end.Fail(fault.Auth, "the credentials name no usable token_uri")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := t.http.Do(req)
	if err != nil {
		return "", 0, t.unreached(ctx, req.URL.Host, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil {
		return "", 0, t.unreached(ctx, req.URL.Host, err)
	}
	var answer struct {
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"` // seconds
		Error       string  `json:"error"`
		Description string  `json:"error_description"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || res.StatusCode >= 300 || answer.AccessToken == "" {
		return "", 0, t.refused(res.StatusCode, answer.Error, answer.Description)
	}
	life := time.Duration(min(max(answer.ExpiresIn, 0), 86_400)) * time.Second
	return answer.AccessToken, life, nil
}

// unreached is the error of a token server that does not answer. What ended
// with the call's context is explained by the caller.
func (t *tokens) unreached(ctx context.Context, host string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	e := llm.NewError(fault.Unavailable, t.end.Provider, t.end.Model, "no access token: cannot reach "+host, err)
	e.Retryable = true
	return e
}

// refused is the error of a token that was not given. Servers in trouble may
// give it later.
func (t *tokens) refused(status int, code, description string) error {
	if status >= 500 || status == http.StatusTooManyRequests {
		return t.end.StatusError(status, nil, nil)
	}
	e := t.end.Fail(fault.Auth, "Google refused an access token"+because(description)).Hint("check the credentials (GOOGLE_APPLICATION_CREDENTIALS)")
	e.Status, e.Code = status, code
	return e
}
