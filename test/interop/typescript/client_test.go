package typescript_test

import (
	"testing"

	"github.com/deft-dev/deft/test/interop/place"
)

func TestMain(m *testing.M) { place.Main(m) }

func TestClient(t *testing.T) {
	t.Parallel()
	place.Node(t)
	for _, sandbox := range []string{"none", "process"} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			const key = "key-of-interop"
			place.Script(t, "main.mjs", map[string]any{
				"key":    key,
				"server": place.Serve(t, place.Options{Key: key, Sandbox: sandbox}).URL,
				"llm":    place.LLM(t, "llm.yaml"),
				"dir":    t.TempDir(),
			})
		})
	}
}
