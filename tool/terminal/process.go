package terminal

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// signalOf returns the signal that ended a process.
func signalOf(p *os.ProcessState) (syscall.Signal, bool) {
	ws, ok := p.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return 0, false
	}
	return ws.Signal(), true
}

// killSessions ends all processes of the given sessions, those in the
// background too. Processes that made a session of their own (daemons) are
// out of its reach; the sandbox ends them.
func killSessions(ids []int) error {
	// A process may fork while the list is read: once more until it is empty.
	for range 20 {
		members, err := sessionMembers(ids)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			return nil
		}
		for _, pid := range members {
			// It may have ended by itself meanwhile.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return nil
}

// sessionMembers lists the living processes of the given sessions.
func sessionMembers(ids []int) ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var members []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // ended
		}
		if sid, alive := parseStat(stat); alive && slices.Contains(ids, sid) {
			members = append(members, pid)
		}
	}
	return members, nil
}

// parseStat reads the session and the state from /proc/PID/stat (proc(5)).
// The name of the program, in parentheses, may hold anything.
func parseStat(stat []byte) (sid int, alive bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	f := bytes.Fields(stat[i+1:]) // state ppid pgrp session …
	if len(f) < 4 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0, false
	}
	sid, err := strconv.Atoi(string(f[3]))
	return sid, err == nil
}
