package appserver

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/settings"
)

// TestOwnersAreBounded opens the settings of many owners at once: a bounded number stays
// open, and those in use are not opened again.
func TestOwnersAreBounded(t *testing.T) {
	t.Parallel()
	opened := map[string]int{}
	o := &owners{dir: "/o", local: "/l", all: map[identity.Tenant]*openSettings{}}
	o.open = func(_ context.Context, dir string) (*settings.Service, error) { // called with the lock held
		opened[dir]++
		return &settings.Service{}, nil
	}
	var wg sync.WaitGroup
	for i := range 2 * keptOwners {
		wg.Go(func() {
			if s, err := o.of(t.Context(), identity.Tenant(fmt.Sprint("owner-", i))); err != nil || s == nil {
				t.Errorf("owner %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if len(o.all) != keptOwners {
		t.Errorf("%d settings are open, want %d", len(o.all), keptOwners)
	}
	for i := range 2 * keptOwners {
		for _, owner := range []identity.Tenant{identity.LocalTenant, identity.Tenant(fmt.Sprint("later-", i))} {
			if _, err := o.of(t.Context(), owner); err != nil {
				t.Error(err)
			}
		}
	}
	if n := opened["/l"]; n != 1 {
		t.Errorf("settings that are always in use were opened %d times", n)
	}
}
