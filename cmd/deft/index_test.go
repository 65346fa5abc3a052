package main

import (
	"archive/zip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdIndex serves an index of Python packages as http://pypi.test/simple, by a proxy for plain HTTP, and sets
// HTTP_PROXY to its address. The index has one package, tea, with the function cups. It sets DEFT to a binary,
// as the test has read the variables of proxies before a sandbox's proxy has them.
func cmdIndex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: index")
	}
	deft, err := staticDeft()
	ts.Check(err)
	const wheel, about = "tea-1.0-py3-none-any.whl", "tea-1.0.dist-info/"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Host != "pypi.test":
			http.Error(w, "there is no such host", http.StatusBadGateway)
		case path.Base(r.URL.Path) == wheel:
			z := zip.NewWriter(w)
			for _, file := range [][2]string{
				{"tea.py", "def cups(bags): return 6 * bags\n"},
				{about + "METADATA", "Metadata-Version: 2.1\nName: tea\nVersion: 1.0\n"},
				{about + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
				{about + "RECORD", "tea.py,,\n" + about + "METADATA,,\n" + about + "WHEEL,,\n" + about + "RECORD,,\n"},
			} {
				if part, err := z.Create(file[0]); err == nil {
					fmt.Fprint(part, file[1])
				}
			}
			_ = z.Close() // pip reports a file that ends early
		case r.URL.Path == "/simple/tea/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!DOCTYPE html><a href=%[1]q>%[1]s</a>", wheel)
		default:
			http.NotFound(w, r)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("DEFT", deft)
	ts.Setenv("HTTP_PROXY", s.URL)
}
