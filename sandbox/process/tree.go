package process

import (
	"context"
	"os"
	"strconv"
	"syscall"
)

// killTree kills the descendants of a sandbox without a PID namespace. Its
// first process is stopped before, so that it starts no new ones, and as a
// subreaper it keeps orphans in the tree until it dies itself.
func killTree(ctx context.Context, st state) {
	if !st.alive() {
		return
	}
	_ = syscall.Kill(st.PID, syscall.SIGSTOP) // it may end meanwhile
	for ctx.Err() == nil {
		live := descendants(st.PID)
		if len(live) == 0 {
			return
		}
		for _, pid := range live {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// descendants returns the living processes beneath pid.
func descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	dead := map[int]bool{}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, err := readStat(n); err == nil {
			children[st.ppid] = append(children[st.ppid], n)
			dead[n] = st.state == 'Z' || st.state == 'X'
		}
	}
	var live []int
	todo := children[pid]
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], children[n]...)
		if !dead[n] {
			live = append(live, n)
		}
	}
	return live
}
