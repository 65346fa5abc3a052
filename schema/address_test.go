package schema_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
)

// TestAddress: the keys in an address are sealed at rest, masked in events, and come back as
// they were.
func TestAddress(t *testing.T) {
	t.Parallel()
	type1 := schema.Object{Name: "Server", Fields: []schema.Field{{Name: "url", Type: schema.Opt(schema.Address{})}}}
	keys := keyring.New("k")
	for address, masked := range map[string]string{
		"https://h/mcp?key=TOK-1":                        "https://h/mcp?key=" + schema.Mask,
		"https://h/mcp?a=b&api_key=TOK%2F1+x&c#f":        "https://h/mcp?a=b&api_key=" + schema.Mask + "&c#f",
		"https://me:TOK@h:1/p?access_token=TOK&page=2":   "https://me:" + schema.Mask + "@h:1/p?access_token=" + schema.Mask + "&page=2",
		"https://h/mcp?page=2":                           "https://h/mcp?page=2",
		"https://h/mcp?key=":                             "https://h/mcp?key=",
		"http://[::1]:8/x?y":                             "http://[::1]:8/x?y",
		"not an address? token=x y&&secret=%zz":          "not an address? token=" + schema.Mask + "&&secret=%zz",
		"https://h/s/TOKa1B2c3D4e5F6g7H8i9J/mcp":         "https://h/s/" + schema.Mask + "/mcp",
		"https://h/TOK-8400-e29b-41d4-a716?a=b#c":        "https://h/" + schema.Mask + "?a=b#c",
		"https://h/TOKa1B2c3D4e5F6g7H8i9%3D":             "https://h/" + schema.Mask,
		"https://h/api/mcp-server-for-long-names/v2/sse": "https://h/api/mcp-server-for-long-names/v2/sse",
		"https://h/index-2024.10.11-of-all-files.html":   "https://h/index-2024.10.11-of-all-files.html",
		"https://user@h/":                                "https://user@h/",
	} {
		doc, err := type1.Check(schema.Of("url", address), schema.Reading{})
		must.Succeed(t, err)
		dump := func(mode schema.Mode) string {
			out, err := type1.Dump(doc, schema.Writing{Mode: mode, Keys: keys})
			must.Succeed(t, err)
			return out.Text("url")
		}
		if got := dump(schema.Masked); got != masked {
			t.Errorf("%s is masked as %s", address, got)
		}
		if got := dump(schema.Plain); got != address {
			t.Errorf("%s is written as %s", address, got)
		}
		sealed := dump(schema.Sealed)
		if strings.Contains(sealed, "TOK") {
			t.Errorf("%s is sealed as %s", address, sealed)
		}
		again, err := type1.Check(schema.Of("url", sealed), schema.Reading{Keys: keys})
		must.Succeed(t, err)
		back := again.Text("url")
		if strings.ReplaceAll(strings.ReplaceAll(back, "%20", "+"), " x", "+x") != address && back != strings.ReplaceAll(address, "token=x y", "token=x+y") {
			t.Errorf("%s comes back as %s", address, back)
		}
	}
}
