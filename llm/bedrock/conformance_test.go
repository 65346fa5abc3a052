package bedrock

import (
	"net/http"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/modeltest"
)

// environ is an environment for New.
func environ(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

var (
	region = map[string]string{"AWS_REGION": "eu-west-1"}
	signer = llm.AWS{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: "session"}
)

// TestConformance runs the suite with bearer tokens, and with signatures for
// all cases but the one with a key of its own.
func TestConformance(t *testing.T) {
	for name, tt := range map[string]struct {
		model  string
		signed bool
	}{
		"bearer": {"bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0", false},
		"signed": {"bedrock/global.anthropic.claude-opus-4-6-v1", true},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, modeltest.Adapter{
				Protocol: llmtest.Anthropic, Model: tt.model, Signed: true,
				Skip: []string{"images"}, // the API takes none by URL; see TestWire
				New: func(c llm.Config) (llm.Model, error) {
					g := gateway{t: t}
					if c.HTTPClient != nil {
						g.inner = c.HTTPClient.Transport
					}
					if tt.signed && (c.APIKey == "" || c.APIKey == testKey) {
						c.APIKey = ""
						c.AWS, g.signer = signer, signer
					}
					c.HTTPClient = &http.Client{Transport: g}
					return New(c, environ(region))
				},
			})
		})
	}
}
