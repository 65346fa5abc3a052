package typescript_test

import (
	"testing"

	"github.com/deft-dev/deft/test/interop/interoptest"
)

func TestMain(m *testing.M) { interoptest.Main(m) }

func TestClient(t *testing.T) {
	t.Parallel()
	interoptest.Node(t)
	for _, sandbox := range []string{"none", "process"} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			const key = "key-of-interop"
			interoptest.Script(t, "main.mjs", map[string]any{
				"key":    key,
				"server": interoptest.Serve(t, interoptest.Options{Key: key, Sandbox: sandbox}).URL,
				"llm":    interoptest.LLM(t, "llm.yaml"),
				"dir":    t.TempDir(),
			})
		})
	}
}

// TestCloud calls the App Server as OpenHands' cloud.
func TestCloud(t *testing.T) {
	t.Parallel()
	interoptest.Node(t)
	interoptest.Script(t, "cloud.mjs", map[string]any{"link": interoptest.AppServer(t), "llm": interoptest.LLM(t, "llm.yaml")})
}
