package runcommand

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSilentModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		v := NewView(ViewOptions{Out: &strings.Builder{}, Err: &out})
		v.startWaiting()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		v.heard()
		time.Sleep(time.Hour)
		synctest.Wait()
		const want = "… the model has not answered for 30s (Ctrl-C pauses)\n… the model has not answered for 1m0s (Ctrl-C pauses)\n" +
			"… the model has not answered for 2m0s (Ctrl-C pauses)\n"
		if got := out.String(); got != want {
			t.Errorf("shown:\n%swant:\n%s", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		v := NewView(ViewOptions{Out: &out, OutTTY: true, Status: true})
		v.thinking(true)
		v.startWaiting()
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		v.heard()
		v.thinking(false)
		if got := out.String(); !strings.Contains(got, "thinking… 3s") || strings.Contains(got, "4s") {
			t.Errorf("shown: %q", got)
		}
	})
}
