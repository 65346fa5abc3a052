package openai_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
)

// Benchmark1000Streams holds 1,000 streams open at once, each with 16 KB of text
// (some 4,000 tokens) received, and reports their memory: the heap and stacks in
// use, and the growth of the process. The server is in the same process, so the
// numbers are upper bounds.
func Benchmark1000Streams(b *testing.B) {
	const streams = 1000
	for b.Loop() {
		release := make(chan struct{})
		base, wait := holdStreams(b, release)
		client := &http.Client{Transport: &http.Transport{ReadBufferSize: 16 << 10}} // as the adapters' own
		m, err := openai.New(llm.Config{Model: "vllm/m", Provider: "vllm", BaseURL: base, HTTPClient: client})
		if err != nil {
			b.Fatal(err)
		}
		before, rss := inUse(), resident(b)
		var received, ended sync.WaitGroup
		received.Add(streams)
		for range streams {
			ended.Go(func() {
				got := 0
				_, err := llm.Complete(b.Context(), m, hi(), func(d llm.Delta) {
					if got += len(d.Text); got == held {
						received.Done()
					}
				})
				if err != nil || got != held {
					b.Errorf("%d bytes, %v", got, err)
				}
			})
		}
		received.Wait()
		b.ReportMetric(float64(inUse()-before)/1e6, "MB-in-use")
		b.ReportMetric(float64(resident(b)-rss)/1e6, "MB-resident")
		close(release)
		ended.Wait()
		wait()
	}
}

const pieces, pieceSize = 100, 160

const held = pieces * pieceSize

// holdStreams serves streams that stop before their end until release is
// closed.
func holdStreams(b *testing.B, release <-chan struct{}) (base string, wait func()) {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	chunk := "data: " + delta(`"content":"`+strings.Repeat("x", pieceSize)+`"`) + "\n\n"
	start := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + strings.Repeat(chunk, pieces))
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReaderSize(conn, 1024))
				if err != nil {
					return
				}
				if _, err := io.Copy(io.Discard, req.Body); err != nil {
					return
				}
				if _, err := conn.Write(start); err == nil {
					<-release
					fmt.Fprintf(conn, "data: %s\n\ndata: [DONE]\n\n", finished)
				}
			})
		}
	})
	return "http://" + ln.Addr().String(), func() {
		ln.Close()
		conns.Wait()
	}
}

// inUse is the memory that the program holds, in bytes.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

// resident is the process's memory as the system counts it, in bytes.
func resident(b *testing.B) int {
	b.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("the resident memory is not known here: ", err)
	}
	fields := bytes.Fields(status)
	pages, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		b.Fatal(err)
	}
	return pages * os.Getpagesize()
}
