package actionserver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// child identifies a process: its pid alone may be reused.
type child struct {
	pid   int
	start string // in clock ticks since boot
}

// children returns the children of this process and whether each is a zombie.
// The kernel lists them by the thread that they belong to.
func children() (map[child]bool, error) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	if len(lists) == 0 {
		return nil, errors.New("/proc does not list children")
	}
	all := map[child]bool{}
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if gone(err) { // the thread has ended; its children moved to another
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list children: %w", err)
		}
		for field := range bytes.FieldsSeq(raw) {
			if err := addChild(all, string(field)); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func addChild(all map[child]bool, pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return fmt.Errorf("list children: %w", err)
	}
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at a child: %w", err)
	}
	// proc(5): pid (comm) state ppid …, comm may contain any character; the start
	// time is field 22.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 20 {
		return fmt.Errorf("read a child: /proc/%s/stat is short", pid)
	}
	all[child{n, fields[19]}] = fields[0] == "Z"
	return nil
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
