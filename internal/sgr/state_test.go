package sgr_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/sgr"
)

func TestState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sequences [][]int
		want      string
	}{
		{nil, ""},
		{[][]int{{31}}, "31"},
		{[][]int{{31}, {1}}, "1;31"},
		{[][]int{{1, 32, 44}, {39}}, "1;44"},
		{[][]int{{1, 2, 3, 4, 7, 9}, {22}, {24, 29}}, "3;7"},
		{[][]int{{31}, {}}, ""},
		{[][]int{{31, 0, 4}}, "4"},
		{[][]int{{38, 5, 208, 1}}, "1;38;5;208"},
		{[][]int{{48, 2, 1, 2, 3}, {97}}, "97;48;2;1;2;3"},
		{[][]int{{38, 5, 999}}, ""},
		{[][]int{{31}, {49}}, "31"},
		{[][]int{{103}, {93}}, "93;103"},
		{[][]int{{5, 6, 8, 31}}, "31"}, // blinking and hidden
	} {
		var s sgr.State
		for _, params := range tt.sequences {
			s.Apply(params)
		}
		if got := s.String(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.sequences, got, tt.want)
		}
	}
}
