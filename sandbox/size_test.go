package sandbox_test

import (
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sandbox.Size{
		"1": 1, "500M": 500 << 20, "8g": 8 << 30, "1.5K": 1536, "2GiB": 2 << 30, "64KB": 64 << 10, "none": -1,
		"": 0, "-1": 0, "0": 0, "x": 0, "1MG": 0, "G": 0, "nan": 0, "inf": 0, "1e30": 0,
	} {
		var got sandbox.Size
		err := got.UnmarshalText([]byte(text))
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestCheckLimit(t *testing.T) {
	t.Parallel()
	for size, refused := range map[sandbox.Size]bool{10: true, 1<<20 - 1: true, 1 << 20: false, 8 << 30: false, 0: false, -1: false} {
		if err := size.CheckLimit("--memory"); fault.Is(err, fault.Invalid) != refused {
			t.Errorf("%d: %v", size, err)
		}
	}
}
