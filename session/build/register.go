package build

import "sync"

var registered struct {
	sync.Mutex
	changes []func(*Classes)
}

// Register has [StandardClasses] include add's classes: agents, runtimes,
// sandboxes, executors or tools of a package that is linked into Deft (`deft build
// --with`). It is for init functions. A name that is there already is replaced.
func Register(add func(*Classes)) {
	registered.Lock()
	defer registered.Unlock()
	registered.changes = append(registered.changes, add)
}

func (c *Classes) addRegistered() {
	registered.Lock()
	defer registered.Unlock()
	for _, add := range registered.changes {
		add(c)
	}
}
