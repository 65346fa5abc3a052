// Package filestoretest holds every implementation of filestore.Files to one suite.
//
// # Usage
//
//	filestoretest.Run(t, func(t *testing.T) (files filestore.Files, root string) { … })
//
// # Concurrency and failure
//
// Each test has files of its own, below the root that it is given.
package filestoretest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/settings/filestore"
)

// Run tests an implementation. open returns new files and a directory for documents.
func Run(t *testing.T, open func(t *testing.T) (files filestore.Files, root string)) {
	t.Helper()
	t.Run("documents", func(t *testing.T) {
		t.Parallel()
		f, root := open(t)
		documents(t, f, root)
	})
	t.Run("locks", func(t *testing.T) {
		t.Parallel()
		f, root := open(t)
		locks(t, f, root)
	})
}

func documents(t *testing.T, f filestore.Files, root string) {
	t.Helper()
	a, b, deep := root+"/profiles/a.json", root+"/profiles/b.json", root+"/profiles/sub/c.json"
	has := func(path, want string) {
		t.Helper()
		raw, err := f.Read(path)
		size, found, serr := f.Size(path)
		if err != nil || serr != nil || string(raw) != want || size != int64(len(want)) || found != (raw != nil) || found != (want != "") {
			t.Errorf("%s: %q, %d, %v, %v, %v; want %q", path, raw, size, found, err, serr, want)
		}
	}
	names := func(want ...string) {
		t.Helper()
		got, err := f.Names(root + "/profiles")
		got = slices.DeleteFunc(got, func(name string) bool { return !strings.HasSuffix(name, ".json") })
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("names: %v, %v; want %v", got, err, want)
		}
	}
	check := func(err error) {
		t.Helper()
		must.Report(t, err)
	}
	has(a, "")
	names()
	check(f.Remove(a))
	long := strings.Repeat(`{"ü": "\u0000"}`+"\n", 10_000)
	for _, content := range []string{"{}", long, `{"a": 1}`} {
		check(f.Write(a, []byte(content)))
		raw, err := f.Read(a)
		if err != nil || string(raw) != content {
			t.Errorf("%d bytes, %v; want %d", len(raw), err, len(content))
		}
	}
	check(f.Write(deep, []byte("{}")))
	check(f.Write(root+"/profiles-of-others.json", []byte("{}")))
	check(f.Write(root+"/profiles0.json", []byte("{}")))
	names("a.json")
	check(f.Rename(a, b))
	has(a, "")
	has(b, `{"a": 1}`)
	names("b.json")
	if err := f.Rename(a, root+"/profiles/none.json"); err == nil {
		t.Error("what is not there has a new name")
	}
	check(f.Remove(b))
	names()
	has(deep, "{}")
}

func locks(t *testing.T, f filestore.Files, root string) {
	t.Helper()
	path, lock := root+"/n", root+"/.lock"
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			unlock, err := f.Lock(t.Context(), lock)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			raw, err := f.Read(path)
			n := 0
			if raw != nil && err == nil {
				n, err = strconv.Atoi(string(raw))
			}
			if err == nil {
				err = f.Write(path, []byte(strconv.Itoa(n+1)))
			}
			must.Report(t, err)
		})
	}
	all.Wait()
	if raw, err := f.Read(path); err != nil || string(raw) != "20" {
		t.Errorf("%s, %v", raw, err)
	}
	unlock, err := f.Lock(t.Context(), lock)
	must.Succeed(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Lock(ctx, lock); !fault.Is(err, fault.Canceled) {
		t.Errorf("a wait that is given up: %v", err)
	}
	other, err := f.Lock(t.Context(), root+"/.other") // is another one
	must.Succeed(t, err)
	other()
}
