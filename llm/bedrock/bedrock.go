// Package bedrock adapts the Converse and ConverseStream operations of Amazon
// Bedrock to package llm.
//
// # Usage
//
//	m, err := bedrock.New(llm.Config{Model: "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"}, os.Getenv)
//
// The JSON form, Signature Version 4 and the binary event stream are
// implemented here over net/http: Amazon's SDK would add more to the program
// than all other providers together.
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate leaves no goroutine running.
//
// # Failure
//
// All errors are *llm.Error. The name of Amazon's exception is the code of the
// error, also inside a stream.
package bedrock

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/awscred"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// Model is one model in one region.
type Model struct {
	end    *exchange.Endpoint
	path   string // of the model, below the base URL
	header http.Header
	bearer string
	creds  *awscred.Chain // nil with a bearer token
	region string
	info   llm.Info
	quirks llm.Quirks
	vendor string // "anthropic", "amazon", …; "" if the name does not say
	now    func() time.Time
	sent   *historycache.Cache[written]
	tools  *historycache.Tools
}

var _ llm.Model = (*Model)(nil)

// New returns a model of Bedrock without making a request. env reads the
// environment, usually os.Getenv, for the region and the bearer token.
//
// A bearer token is taken from the API key of cfg or, unless cfg selects other
// credentials, from AWS_BEARER_TOKEN_BEDROCK. Without one, requests are signed
// with the credentials of cfg, else with the credentials that package awscred
// finds where the AWS CLI does. The region comes from cfg, from the model's ARN,
// else from AWS_REGION, AWS_DEFAULT_REGION, AWS_REGION_NAME or the profile. Errors
// are of kind Invalid. Missing credentials are an error of the first call.
func New(cfg llm.Config, env func(string) string) (*Model, error) {
	if cfg.Model == "" {
		return nil, exchange.NoModel()
	}
	cfg.Provider = cmp.Or(cfg.Provider, "bedrock")
	m := &Model{header: http.Header{}, now: time.Now, sent: historycache.New[written](historycache.Shared), tools: historycache.ToolsIn("bedrock", false), bearer: cfg.APIKey.Reveal()}
	if m.bearer == "" && !cfg.AWS.Signs() {
		m.bearer = env("AWS_BEARER_TOKEN_BEDROCK")
		cfg.APIKey = llm.Secret(m.bearer) // so that errors do not show it
	}
	wire := exchange.New(cfg.Provider, cfg, "").WireModel()
	wire = strings.TrimPrefix(wire, "converse/") // other tools name the operation
	m.region = cmp.Or(awscred.CleanRegion(cfg.AWS.Region), findRegion(wire, cfg.BaseURL, cfg.AWS, env))
	if m.region == "" {
		return nil, fault.New(fault.Invalid, "no AWS region is configured").Hint("set AWS_REGION")
	}
	cfg.WireModel = wire
	m.end = exchange.New(cfg.Provider, cfg, regionURL(m.region))
	if err := m.end.Check(); err != nil {
		return nil, err
	}
	if m.bearer == "" {
		m.creds = awscred.Shared(cfg.AWS)
	}
	m.path = "model/" + httpbinding.EscapePath(wire, true)
	m.describe(cfg, wire)
	for name, value := range cfg.Headers {
		m.header.Set(name, value)
	}
	return m, nil
}

// describe looks the model up by its plain name. For models that are available
// everywhere Amazon charges the maker's prices, for its own models the prices of
// the United States; a region's may be higher.
func (m *Model) describe(cfg llm.Config, wire string) {
	vendor, plain, where := plainName(wire)
	m.vendor, cfg.WireModel = vendor, plain
	owner := cfg.Provider
	switch {
	case where == "global.":
		owner = vendor
	case vendor == "amazon" && where == "us.":
		owner, cfg.WireModel = vendor, where+plain
	case vendor == "amazon" && where == "" && strings.HasPrefix(m.region, "us-") && !strings.HasPrefix(m.region, "us-gov-"):
		owner = vendor
	}
	m.info, m.quirks = catalog.Default().Describe(cfg, owner)
	if cfg.Info.Provider == "" {
		m.info.Provider = cfg.Provider
	}
	if vendor == "anthropic" {
		m.info.PromptCache, m.info.MustEcho.ThinkingBlocks = true, true
	}
}

// plainName splits a model id into its geography, its vendor and the model's
// own name, which the catalogue has.
func plainName(wire string) (vendor, plain, where string) {
	plain = wire
	if strings.HasPrefix(wire, "arn:") {
		plain = wire[strings.LastIndexByte(wire, '/')+1:]
	}
	for _, p := range []string{"us-gov.", "global.", "us.", "eu.", "apac.", "jp.", "au.", "ca."} {
		if rest, ok := strings.CutPrefix(plain, p); ok {
			plain, where = rest, p
			break
		}
	}
	if v, rest, ok := strings.Cut(plain, "."); ok {
		return v, rest, where
	}
	return "", plain, where
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info { return m.info }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	body, err := m.encode(ctx, &r)
	if err != nil {
		return nil, err
	}
	a := newAccumulator(onDelta)
	return m.end.Do(ctx, exchange.Call{
		NoStream: r.NoStream, Deltas: &a.Deltas,
		Ask:    func(ctx context.Context) (*http.Response, error) { return m.post(ctx, &r, body) },
		Whole:  func(res *http.Response) error { return m.readWhole(res.Body, a) },
		Stream: func(res *http.Response, w *exchange.Watch) error { return m.readStream(res.Body, w, a) },
		Finish: func(h http.Header) *llm.Response {
			a.ID, a.Model = h.Get("X-Amzn-Requestid"), m.end.WireModel()
			return exchange.Priced(a.response(), m.info.Price, a.usageSeen)
		},
	})
}

// post signs and sends a request.
func (m *Model) post(ctx context.Context, r *llm.Request, body [][]byte) (*http.Response, error) {
	operation := "/converse-stream"
	if r.NoStream {
		operation = "/converse"
	}
	req, err := exchange.NewRequest(ctx, m.end.BaseURL+"/"+m.path+operation, body...)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header = m.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "deft")
	}
	if r.Session != "" {
		req.Header.Set(exchange.SessionHeader, r.Session)
	}
	if err := m.authorize(ctx, req, body); err != nil {
		return nil, err
	}
	return m.end.Send(req, m.statusError)
}

// authorize signs a request. The error of a context that ended is returned
// unchanged.
func (m *Model) authorize(ctx context.Context, req *http.Request, body [][]byte) error {
	if m.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+m.bearer)
		return nil
	}
	err := m.creds.Sign(ctx, req, slices.Concat(body...), m.region, "bedrock", m.now())
	if err == nil || ctx.Err() != nil {
		return err
	}
	fail := llm.NewError(fault.KindOf(err), m.info.Provider, m.info.Name, "the request cannot be signed", err).Hint(fault.HintOf(err))
	fail.Retryable = fault.KindOf(err) == fault.Unavailable
	return fail
}

// findRegion returns the region to call, or "".
func findRegion(model, base string, given llm.AWS, env func(string) string) string {
	if parts := strings.Split(model, ":"); len(parts) > 4 && parts[0] == "arn" && parts[3] != "" {
		return awscred.CleanRegion(parts[3])
	}
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_REGION_NAME"} {
		if v := env(name); v != "" {
			return awscred.CleanRegion(v)
		}
	}
	if v := awscred.Region(context.Background(), given); v != "" {
		return v
	}
	if base == "" {
		return ""
	}
	// The user's own server: the region is used only in the signature.
	if u, err := url.Parse(base); err == nil {
		if parts := strings.Split(u.Hostname(), "."); len(parts) > 2 && strings.HasPrefix(parts[0], "bedrock-runtime") {
			return awscred.CleanRegion(parts[1])
		}
	}
	return "us-east-1"
}

func regionURL(region string) string {
	return "https://bedrock-runtime." + region + "." + awscred.Domain(region)
}
