package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWatch has a package that passes, one that fails, one that breaks off, and a pause.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, write := io.Pipe()
		go func() {
			say := func(lines ...string) { _, _ = io.WriteString(write, strings.Join(lines, "\n")+"\n") }
			say(`{"Action":"start","Package":"p"}`, `{"Action":"run","Package":"p","Test":"TestA"}`, `{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`, `{"Action":"output","Package":"p","Output":"PASS\n"}`, `{"Action":"output","Package":"p","Output":"ok  \tp\t1s\n"}`, `{"Action":"pass","Package":"p"}`)
			say(`go: of go itself`, `{"ImportPath":"q","Action":"build-output","Output":"q.go:1: wrong\n"}`)
			say(`{"Action":"run","Package":"r","Test":"TestB"}`, `{"Action":"run","Package":"r","Test":"TestB/one"}`, `{"Action":"run","Package":"r","Test":"TestC"}`, `{"Action":"pause","Package":"r","Test":"TestC"}`)
			time.Sleep(quiet + time.Second)
			say(`{"Action":"output","Package":"r","Test":"TestB/one","Output":"bad\n"}`, `{"Action":"fail","Package":"r","Test":"TestB/one"}`, `{"Action":"fail","Package":"r","Test":"TestB"}`,
				`{"Action":"cont","Package":"r","Test":"TestC"}`, `{"Action":"output","Package":"r","Test":"TestC","Output":"=== CONT  TestC\n"}`, `{"Action":"output","Package":"r","Test":"TestC","Output":"panic: x\n"}`, `{"Action":"output","Package":"r","Output":"FAIL\tr\t2s\n"}`, `{"Action":"fail","Package":"r"}`)
			write.Close()
		}()
		var out strings.Builder
		watch(in, &out)
		want := "ok  \tp\t1s\ngo: of go itself\nq.go:1: wrong\nno test has said anything for 5m0s; these run:\n\tr TestB/one for 5m0s\nbad\npanic: x\nFAIL\tr\t2s\n"
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Error(d)
		}
	})
}
