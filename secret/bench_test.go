package secret_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/secret"
)

// secrets returns a registry with n tokens that begin alike, as tokens of one
// service do.
func secrets(n int) *secret.Registry {
	r := secret.NewRegistry(secret.Options{})
	for i := range n {
		r.Track(fmt.Sprintf("ghp_%036x", i*7919))
	}
	r.Mask("")
	return r
}

func benchmarkMask(b *testing.B, n int, text string) {
	r := secrets(n)
	r.Mask(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Mask(text)
	}
}

var output = strings.Repeat("go: downloading golang.org/x/sys v0.30.0 ghp_0 done\n", 600) // 30 KB

func BenchmarkMask1(b *testing.B)    { benchmarkMask(b, 1, output) }
func BenchmarkMask100(b *testing.B)  { benchmarkMask(b, 100, output) }
func BenchmarkMask1000(b *testing.B) { benchmarkMask(b, 1000, output) }

func BenchmarkMaskObservation(b *testing.B) {
	r := secrets(20)
	o := &event.TerminalObservation{ObservationBase: event.ObservationBase{Content: event.Texts(output)}}
	b.SetBytes(int64(len(output)))
	b.ReportAllocs()
	for b.Loop() {
		r.MaskObservation(o)
	}
}

func BenchmarkStreamDelta(b *testing.B) {
	s := secrets(20).Stream()
	b.ReportAllocs()
	for b.Loop() {
		s.Feed(" token")
	}
}

// BenchmarkLearn is the cost of a new value.
func BenchmarkLearn(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				secrets(n)
			}
		})
	}
}
