package hostile_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestAnotherUser: a server without a key serves its own user only; with one, whoever has it.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" && os.Getenv("DEFT_TEST_USER") == "" { // root's proof has tried it
			t.Fatal("needs root, to be another user")
		}
		t.Skip("needs root, to be another user")
	}
	for _, key := range []string{"", "secret-of-the-test"} {
		v := start(t, key)
		for _, line := range []string{"GET /health", "GET /api/settings", "POST /api/bash/execute_bash_command", "GET /sockets/bash-events"} {
			host, port, _ := strings.Cut(v.host, ":")
			request := line + " HTTP/1.1\r\nHost: " + v.host + "\r\nConnection: close\r\nX-Session-API-Key: " + key + "\r\n"
			if strings.HasPrefix(line, "GET /sockets") {
				request = strings.Replace(request, "Connection: close", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", 1)
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", `exec 3<>/dev/tcp/$0/$1; printf '%s\r\n' "$2" >&3; head -n 1 <&3`, host, port, request)
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			out, err := cmd.Output()
			if refused := strings.Contains(string(out), " 403 "); err != nil || refused != (key == "") {
				t.Errorf("%s with the key %q: %s, %v", line, key, out, err)
			}
		}
	}
}
