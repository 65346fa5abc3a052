package gemini

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/googlecred"
)

// Environment variables of Vertex AI, in the order they are tried.
var (
	projectVars  = []string{"VERTEXAI_PROJECT", "GOOGLE_CLOUD_PROJECT"}
	locationVars = []string{"VERTEXAI_LOCATION", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"}
	tokenVars    = []string{"VERTEXAI_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"}
)

// defaultLocation has every current model.
const defaultLocation = "global"

// NewVertex returns a Gemini model of Vertex AI without making a request. env
// reads the environment, usually os.Getenv.
//
// The access token is the API key of cfg, else VERTEXAI_ACCESS_TOKEN, else fetched
// with the default credentials of Google Cloud (package googlecred). The project
// is VERTEXAI_PROJECT, else the credentials' project; the location is
// VERTEXAI_LOCATION, default global. Errors are of kind Invalid. Missing
// credentials are an error of the first call, unless they are needed for the
// project: so an address can be checked without a key.
func NewVertex(cfg llm.Config, env func(string) string) (*Model, error) {
	c, err := findCloud(&cfg, env)
	if err != nil {
		return nil, err
	}
	m, err := newModel(cfg, c.url(), "gemini")
	if err != nil {
		return nil, err
	}
	m.path = c.path("google", m.end.WireModel())
	m.tokens = newTokens(m.end, c)
	m.noIDs = true
	return m, nil
}

// cloud is the project, the location and the credentials of calls.
type cloud struct {
	project, location, token string
	cred                     *googlecred.Source
	credErr                  error // why there is neither token nor cred
}

// findCloud reads the environment, and sets the provider and the secret of cfg.
func findCloud(cfg *llm.Config, env func(string) string) (*cloud, error) {
	if cfg.Model == "" {
		return nil, exchange.NoModel()
	}
	cfg.Provider = cmp.Or(cfg.Provider, "vertex_ai")
	c := &cloud{
		project: first(env, projectVars), location: cmp.Or(first(env, locationVars), defaultLocation),
		token: cmp.Or(cfg.APIKey.Reveal(), first(env, tokenVars)),
	}
	cfg.APIKey = llm.Secret(c.token) // so that errors do not show it
	if strings.Trim(c.location, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%q is not a location of Vertex AI", c.location)).Hint("set VERTEXAI_LOCATION")
	}
	if c.token == "" {
		if c.cred, c.credErr = googlecred.Find(env); c.credErr == nil {
			c.project = cmp.Or(c.project, c.cred.Project)
		}
	}
	switch {
	case c.project == "" && c.credErr != nil:
		return nil, c.credErr
	case c.project == "" && c.token == "" && c.cred.File == "":
		return nil, fault.New(fault.Auth, "there are no credentials for Google Cloud").
			Hint("set GOOGLE_APPLICATION_CREDENTIALS to a key file, or run `gcloud auth application-default login`; on a machine of Google Cloud, set VERTEXAI_PROJECT")
	case c.project == "":
		return nil, fault.New(fault.Invalid, "no Google Cloud project is configured").Hint("set VERTEXAI_PROJECT")
	}
	return c, nil
}

func (c *cloud) url() string {
	if c.location == "global" {
		return "https://aiplatform.googleapis.com"
	}
	return "https://" + c.location + "-aiplatform.googleapis.com"
}

func (c *cloud) path(publisher, model string) string {
	return "v1/projects/" + url.PathEscape(c.project) + "/locations/" + c.location +
		"/publishers/" + publisher + "/models/" + url.PathEscape(model)
}

func first(env func(string) string, names []string) string {
	for _, n := range names {
		if v := env(n); v != "" {
			return v
		}
	}
	return ""
}

// checkURL returns the endpoint of cfg and checks its address.
func checkURL(cfg llm.Config, defaultURL string) (*exchange.Endpoint, error) {
	end := exchange.New(cfg.Provider, cfg, defaultURL)
	return end, end.Check()
}
