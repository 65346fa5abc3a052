package llmtest_test

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openaiClient(t *testing.T, srv *llmtest.Server, opts ...openaioption.RequestOption) openai.Client {
	t.Helper()
	return openai.NewClient(append([]openaioption.RequestOption{
		openaioption.WithBaseURL(srv.URL + "/v1"), openaioption.WithAPIKey("sk-test"), openaioption.WithMaxRetries(0),
		openaioption.WithHTTPClient(httpClient(t)),
	}, opts...)...)
}

func anthropicClient(t *testing.T, srv *llmtest.Server, opts ...anthropicoption.RequestOption) anthropic.Client {
	t.Helper()
	return anthropic.NewClient(append([]anthropicoption.RequestOption{
		anthropicoption.WithBaseURL(srv.URL), anthropicoption.WithAPIKey("sk-test"), anthropicoption.WithMaxRetries(0),
		anthropicoption.WithHTTPClient(httpClient(t)),
	}, opts...)...)
}

func retries(n int) openaioption.RequestOption { return openaioption.WithMaxRetries(n) }

var modelListParams = anthropic.ModelListParams{}

func rawJSON(s string) json.RawMessage { return json.RawMessage(s) }
