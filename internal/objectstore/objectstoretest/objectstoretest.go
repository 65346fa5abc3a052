// Package objectstoretest is the conformance suite of objectstore.Store.
//
// # Usage
//
//	objectstoretest.Run(t, store)
//
// # Concurrency and failure
//
// Run fails its test for a store's mistakes.
package objectstoretest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/objectstore"
)

// Run tests an empty store.
func Run(t *testing.T, s objectstore.Store) {
	t.Helper()
	ctx := t.Context()
	want := func(key, content string) {
		t.Helper()
		r, err := s.Get(ctx, key)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || string(got) != content {
			t.Errorf("%s has %d bytes, %v; want %d", key, len(got), err, len(content))
		}
	}
	put := func(key, content string) {
		t.Helper()
		if err := s.Put(ctx, key, io.MultiReader(strings.NewReader(content))); err != nil { // its length is not known
			t.Fatalf("%s: %v", key, err)
		}
	}
	kind := func(what string, err error, kind fault.Kind) {
		t.Helper()
		if !fault.Is(err, kind) {
			t.Errorf("%s: %v, want the kind %s", what, err, kind)
		}
	}
	_, err := s.Get(ctx, "a/b")
	kind("a missing object", err, fault.NotFound)
	if err := s.Delete(ctx, "a/b"); err != nil {
		t.Errorf("deleting nothing: %v", err)
	}
	put("a/b", "one")
	put("a/c", "c")
	put("a/b", "two")
	want("a/b", "two")
	want("a/c", "c")
	kind("an empty object", s.Put(ctx, "a/b", strings.NewReader("")), fault.Invalid)

	broken := errors.New("broken")
	if err := s.Put(ctx, "a/b", io.MultiReader(strings.NewReader("three"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("content that cannot be read: %v", err)
	}
	want("a/b", "two")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Put(gone, "a/b", strings.NewReader("four")); err == nil {
		t.Error("a caller that has given up has stored something")
	}
	want("a/b", "two")

	large := string(bytes.Repeat([]byte("0123456789abcdef"), 40<<20/16)) // several parts
	put("large", large)
	want("large", large)

	var wg sync.WaitGroup
	for _, c := range []string{"x", "y", "z"} {
		wg.Go(func() {
			must.Report(t, s.Put(ctx, "at/once", strings.NewReader(strings.Repeat(c, 1000))))
		})
	}
	wg.Wait()
	r, err := s.Get(ctx, "at/once")
	must.Succeed(t, err)
	raw, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || len(raw) != 1000 || strings.Trim(string(raw), string(raw[:1])) != "" {
		t.Errorf("of several writers: %q, %v", raw, err)
	}

	must.Report(t, s.Delete(ctx, "a/b"))
	_, err = s.Get(ctx, "a/b")
	kind("a deleted object", err, fault.NotFound)
	want("a/c", "c")

	for _, key := range []string{"", "/", "a/", "/a", "../a", "a/../b", "a//b", ".hidden", "a/.part", "a b", "a\\b", "é", "a\x00", strings.Repeat("a", 1000)} {
		kind("put "+key, s.Put(ctx, key, strings.NewReader("")), fault.Invalid)
		_, err := s.Get(ctx, key)
		kind("get "+key, err, fault.Invalid)
		kind("delete "+key, s.Delete(ctx, key), fault.Invalid)
	}
}
