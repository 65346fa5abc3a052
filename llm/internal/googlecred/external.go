package googlecred

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/awscred"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// externalURL is the default address to exchange tokens of other providers.
const externalURL = "https://sts.googleapis.com/v1/token"

// externalSource is the source of another provider's token
// (https://google.aip.dev/auth/4117).
type externalSource struct {
	File        string            `json:"file"`
	URL         string            `json:"url"`
	Headers     map[string]string `json:"headers"`
	Environment string            `json:"environment_id"` // "aws1"
	Verify      string            `json:"regional_cred_verification_url"`
	Executable  json.RawMessage   `json:"executable"`
	Format      struct {
		Type  string `json:"type"` // "json", or text
		Field string `json:"subject_token_field_name"`
	} `json:"format"`
}

// external returns the grant of a workload identity of another provider.
func (f *finder) external(c *file, path string) (grant, error) {
	if c.Audience == "" || c.SubjectType == "" {
		return nil, broken(path)
	}
	var subject func(ctx context.Context) (string, error)
	switch from := &c.ExternalFrom; {
	case strings.HasPrefix(from.Environment, "aws"):
		chain := awscred.Shared(f.env)
		subject = func(ctx context.Context) (string, error) { return f.amazon(ctx, c, chain) }
	case from.File != "":
		subject = func(context.Context) (string, error) {
			data, err := tokencache.ReadFile(from.File)
			if err != nil {
				return "", fault.New(fault.Auth, "read the token of the Google Cloud credentials").Because(err).Hint("check the file of its credential_source")
			}
			return from.pick(data)
		}
	case from.URL != "":
		subject = func(ctx context.Context) (string, error) { return f.fetched(ctx, from) }
	case len(from.Executable) > 0:
		return nil, unsupported("a program (executable)")
	default:
		return nil, broken(path)
	}
	own := func(ctx context.Context) (token, error) { return f.exchange(ctx, c, subject) }
	if c.ActAs != "" {
		return f.actAs(c, own), nil
	}
	return own, nil
}

// exchange exchanges a token of another provider for one of Google's (RFC
// 8693).
func (f *finder) exchange(ctx context.Context, c *file, subject func(context.Context) (string, error)) (token, error) {
	given, err := subject(ctx)
	if err != nil {
		return token{}, err
	}
	form := url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		"audience":             {c.Audience}, "scope": {Scope},
		"subject_token": {given}, "subject_token_type": {c.SubjectType},
	}
	if c.UserProject != "" {
		options, err := json.Marshal(map[string]string{"userProject": c.UserProject})
		if err != nil {
			return token{}, fmt.Errorf("write request: %w", err)
		}
		form.Set("options", string(options))
	}
	return f.post(ctx, cmp.Or(c.TokenURL, externalURL), form)
}

// fetched fetches a token from a service of the machine, such as Azure's.
func (f *finder) fetched(ctx context.Context, from *externalSource) (string, error) {
	const service = "the credential source of Google Cloud"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.URL, nil)
	if err != nil {
		return "", fault.New(fault.Auth, "the Google Cloud credentials have no usable credential_source").Hint(hint)
	}
	for name, value := range from.Headers {
		req.Header.Set(name, value)
	}
	a, err := tokencache.Fetch(ctx, f.direct, req, service)
	if err != nil {
		return "", err
	}
	if a.Status != http.StatusOK {
		return "", a.Refused(service, "", "")
	}
	return from.pick(a.Body)
}

// pick extracts the token from the content of a file or an answer.
func (s *externalSource) pick(data []byte) (string, error) {
	text := string(data)
	if s.Format.Type == "json" {
		var fields map[string]any
		text = ""
		if json.Unmarshal(data, &fields) == nil {
			text, _ = fields[s.Format.Field].(string)
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", fault.New(fault.Auth, "the credential_source of the Google Cloud credentials contains no token").Hint("check its format and subject_token_field_name")
	}
	return text, nil
}

// amazon signs a request for the caller's identity, which Google sends to AWS
// (https://google.aip.dev/auth/4117#determining-the-subject-token-in-aws).
func (f *finder) amazon(ctx context.Context, c *file, chain *awscred.Chain) (string, error) {
	region := cmp.Or(awscred.CleanRegion(f.env("AWS_REGION")), awscred.CleanRegion(f.env("AWS_DEFAULT_REGION")), awscred.ProfileRegion(f.env))
	if region == "" {
		return "", fault.New(fault.Auth, "the Google Cloud credentials need an AWS region").Hint("set AWS_REGION")
	}
	keys, err := chain.Get(ctx)
	if err != nil {
		return "", fmt.Errorf("sign for Google Cloud: %w", err)
	}
	at := strings.ReplaceAll(cmp.Or(c.ExternalFrom.Verify, "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"), "{region}", region)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, nil)
	if err != nil {
		return "", fault.New(fault.Auth, "the Google Cloud credentials have no usable regional_cred_verification_url").Hint(hint)
	}
	req.Header.Set("X-Goog-Cloud-Target-Resource", c.Audience)
	awscred.Sign(req, nil, keys, region, "sts", f.now())
	type header struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	headers := []header{{"Host", req.URL.Host}}
	for name := range req.Header {
		headers = append(headers, header{name, req.Header.Get(name)})
	}
	text, err := json.Marshal(map[string]any{"url": at, "method": http.MethodPost, "headers": headers, "body": ""})
	if err != nil {
		return "", fmt.Errorf("write request: %w", err)
	}
	return url.QueryEscape(string(text)), nil
}
