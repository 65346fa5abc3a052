package config

import "testing"

func TestRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		memory, files, tasks uint64
		want                 int
	}{
		{8 << 30, 20_000, 0, 2048}, {0, 0, 0, 10_000}, {1 << 40, 1024, 0, 128}, {8 << 30, 20_000, 400, 100},
		{32 << 20, 64, 8, 16},
	}
	for _, tt := range tests {
		if got := runs(tt.memory, tt.files, tt.tasks); got != tt.want {
			t.Errorf("runs(%d, %d, %d) = %d, want %d", tt.memory, tt.files, tt.tasks, got, tt.want)
		}
	}
	if n := Runs(); n < 16 || n > 10_000 {
		t.Errorf("Runs() = %d", n)
	}
}
