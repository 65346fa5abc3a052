package postgres_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// TestOpenTogether opens several stores on an empty schema at a time: one makes the
// tables.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := postgres.Open(context.Background(), url, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			must.Report(t, s.Close())
		})
	}
	wg.Wait()
	if n := rows(t, url, "schema_version"); n != 1 {
		t.Errorf("the version is stored %d times", n)
	}
}

// TestOpenOtherVersion refuses tables of a later version, and those from before the first
// release.
func TestOpenOtherVersion(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	must.Succeed(t, open(t, url).Close())
	for _, change := range []string{"version + 1", "1"} {
		execute(t, url, "UPDATE schema_version SET version = "+change)
		if _, err := postgres.Open(t.Context(), url, postgres.Options{}); !fault.Is(err, fault.Unsupported) || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v", change, err)
		}
	}
}

// TestOpenErrors looks at kinds, hints, and that no error has the password.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	const password = "hunter2-secret"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	closed := l.Addr().String()
	must.Succeed(t, l.Close())
	good := postgrestest.URL(t)
	with := strings.Replace(good, "postgres://postgres@", "postgres://postgres:"+password+"@", 1)
	if with == good {
		t.Fatalf("no user in %s", good)
	}
	for name, c := range map[string]struct {
		url  string
		kind fault.Kind
	}{
		"nobody listens":    {fmt.Sprintf("postgres://deft:%s@%s/deft?sslmode=disable", password, closed), fault.Unavailable},
		"bad port":          {fmt.Sprintf("postgres://deft:%s@localhost:bad/deft", password), fault.Invalid},
		"password with /":   {fmt.Sprintf("postgres://deft:/%s@localhost/deft", password), fault.Invalid},
		"password with %":   {fmt.Sprintf("postgres://deft:%%%s@localhost/deft", password), fault.Invalid},
		"bad setting":       {with + "&pool_max_conns=" + password, fault.Invalid},
		"key and value":     {fmt.Sprintf("host=localhost password='%s", password), fault.Invalid},
		"unknown user":      {strings.Replace(with, "postgres:"+password, "nobody_"+"here:"+password, 1), fault.Auth},
		"unknown database":  {strings.Replace(with, "/postgres?", "/nowhere?", 1), fault.Invalid},
		"unknown schema":    {with + "x", fault.Invalid},
		"unknown setting":   {with + "&nonsense=1", fault.Invalid},
		"time of a timeout": {with + "&statement_timeout=x", fault.Invalid},
	} {
		s, err := postgres.Open(t.Context(), c.url, postgres.Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
			_ = s.Close()
			continue
		}
		if !fault.Is(err, c.kind) {
			t.Errorf("%s: the kind is %s, want %s: %v", name, fault.KindOf(err), c.kind, err)
		}
		if fault.HintOf(err) == "" {
			t.Errorf("%s: no hint: %v", name, err)
		}
		if strings.Contains(err.Error()+fault.HintOf(err), password) {
			t.Errorf("%s: the error has the password: %v", name, err)
		}
	}
}
