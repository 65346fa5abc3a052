package gemini

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
)

// Environment variables of NewVertex, in the order they are tried.
var (
	projectVars  = []string{"VERTEXAI_PROJECT", "GOOGLE_CLOUD_PROJECT"}
	locationVars = []string{"VERTEXAI_LOCATION", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"}
	tokenVars    = []string{"VERTEXAI_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"}
)

// defaultLocation serves every current model.
const defaultLocation = "global"

// NewVertex makes a model of Vertex AI. env reads the environment, usually
// os.Getenv. It makes no request.
//
// The access token is the API key of cfg, else VERTEXAI_ACCESS_TOKEN, else
// asked for with the credentials of GOOGLE_APPLICATION_CREDENTIALS, else with
// those that gcloud keeps. The project is VERTEXAI_PROJECT, else that of the
// credentials; the location is VERTEXAI_LOCATION, default global. Errors are of
// kind Invalid, and Auth for missing credentials.
func NewVertex(cfg llm.Config, env func(string) string) (*Model, error) {
	if cfg.Provider == "" {
		cfg.Provider = "vertex_ai"
	}
	token := cmp.Or(cfg.APIKey.Reveal(), first(env, tokenVars))
	var cred *credentials
	if token == "" {
		var err error
		if cred, err = findCredentials(env); err != nil {
			return nil, err
		}
	} else {
		cfg.APIKey = llm.Secret(token) // so that errors do not show it
	}
	location := cmp.Or(first(env, locationVars), defaultLocation)
	if strings.Trim(location, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%q is no location of Vertex AI", location)).Hint("set VERTEXAI_LOCATION")
	}
	m, err := newModel(cfg, vertexURL(location), "gemini")
	if err != nil {
		return nil, err
	}
	project := first(env, projectVars)
	if project == "" && cred != nil {
		project = cmp.Or(cred.ProjectID, cred.QuotaProject)
	}
	if project == "" {
		return nil, fault.New(fault.Invalid, "no project of Google Cloud is named").Hint("set VERTEXAI_PROJECT")
	}
	m.path = "v1/projects/" + url.PathEscape(project) + "/locations/" + url.PathEscape(location) +
		"/publishers/google/models/" + url.PathEscape(m.end.WireModel())
	m.tokens = newTokens(m, token, cred)
	m.noIDs = true
	return m, nil
}

func vertexURL(location string) string {
	if location == "global" {
		return "https://aiplatform.googleapis.com"
	}
	return "https://" + location + "-aiplatform.googleapis.com"
}

func findCredentials(env func(string) string) (*credentials, error) {
	if path := env("GOOGLE_APPLICATION_CREDENTIALS"); path != "" {
		return readCredentials(path)
	}
	if home := env("HOME"); home != "" {
		c, err := readCredentials(filepath.Join(home, ".config", "gcloud", "application_default_credentials.json"))
		if err == nil {
			return c, nil
		}
	}
	return nil, fault.New(fault.Auth, "there are no credentials of Google Cloud").
		Hint("set GOOGLE_APPLICATION_CREDENTIALS to a service account's key file, or VERTEXAI_ACCESS_TOKEN")
}

func first(env func(string) string, names []string) string {
	for _, n := range names {
		if v := env(n); v != "" {
			return v
		}
	}
	return ""
}
