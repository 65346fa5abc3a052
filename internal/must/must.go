// Package must tells of the errors of a test.
//
// # Usage
//
//	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
//	must.Succeed(t, err)
//	defer func() { must.Report(t, s.Close()) }()
//
// An error that needs words beside it is told with Fatalf.
//
// # Concurrency and failure
//
// As Fatal and Error of package testing: only the goroutine of the test may call Succeed.
package must

// T is a test: a *testing.T, *testing.B, *testing.F or *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
	Error(args ...any)
}

// Succeed ends the test if there is an error.
func Succeed(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Report fails the test if there is an error, and lets it go on.
func Report(t T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
