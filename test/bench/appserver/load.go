package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// post sends a body to a path n times, one after the other answer, on one connection. The
// request is written unchanged and the answer's body not looked at: clients take their time
// from the measured cores.
func (s *server) post(ctx context.Context, path string, body any, n int) (err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	host := strings.TrimPrefix(s.url, "http://")
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Session-API-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, host, s.key, len(raw), raw)
	answers := bufio.NewReader(c)
	for range n {
		if _, err := c.Write(request); err != nil {
			return err
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		out, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // it was read
		if err == nil && res.StatusCode >= 300 {
			err = fmt.Errorf("POST %s: %s: %.300s", path, res.Status, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// processor returns the processor time that a process has used, in steps of 10 ms (proc(5)).
func processor(pid int) (used time.Duration, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	for _, field := range f[11:13] { // utime, stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(n) * 10 * time.Millisecond
	}
	return used, nil
}

// use is the use of resources and storage since everything was started.
type use struct {
	servers           []time.Duration // processor time
	database, clients time.Duration
	events            float64
}

// measureUse measures servers on this machine that share a database.
func measureUse(ctx context.Context, servers []*server, database string) (u use, err error) {
	for _, s := range servers {
		one, err := processor(s.cmd.Process.Pid)
		if err != nil {
			return u, err
		}
		u.servers = append(u.servers, one)
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return u, err
	}
	u.clients = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return u, err
	}
	defer c.Close(ctx)
	if err := c.QueryRow(ctx, "SELECT sum(events) FROM conversations").Scan(&u.events); err != nil {
		return u, err
	}
	rows, err := c.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()")
	if err != nil {
		return u, err
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	for _, pid := range pids {
		one, failed := processor(pid)
		if failed != nil {
			return u, failed
		}
		u.database += one
	}
	return u, err
}

func (u use) since(before use) use {
	for i := range u.servers {
		u.servers[i] -= before.servers[i]
	}
	u.database, u.clients, u.events = u.database-before.database, u.clients-before.clients, u.events-before.events
	return u
}
