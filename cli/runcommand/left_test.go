package runcommand

import "testing"

func TestParseLeft(t *testing.T) {
	t.Parallel()
	const list = `proxy 45225
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   0: 0100007F:B0A9 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:0BB9 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 1 1
process 1 (deft-sandbox) S 0 1 1 0 -1	deft-sandbox action-server 
process 7 (bash) S 1 7 7 34816 7	bash --norc 
process 9 (node (x)) S 7 9 7 34816 9	node server.js 
process 10 (sleep) S 1 10 10 0 -1	sleep 1000 
process 11 (sleep) S 1 11 11 0 -1	sleep 1000 
process 12 (sh) S 1 12 1 0 -1	sh -c npx tracker 
process 13 (old) Z 1 13 13 0 -1	
process 14 (node) S 12 12 1 0 -1	node /w/tracker --stdio 
process 15 (helper) S 14 15 15 0 -1	helper 
process 20 (sh) S 1 20 1 0 -1	sh -c cat 
process 21 (tr) R 20 20 1 0 -1	tr 
self 20
`
	l := parseLeft(list)
	if got, want := l.String(), "node server.js, sleep 1000, listening on port 3000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := parseLeft("process 1 (x) S 0 1 1 0 -1\tx\nprocess 7 (bash) S 1 7 7 34816 7\tbash\nbroken\nprocess broken\nself 9\n"); len(got.programs)+len(got.ports) > 0 {
		t.Errorf("%+v", got)
	}
	if got := (left{programs: []string{"a", "b", "c", "d", "e"}}).String(); got != "a, b, c, 2 others" {
		t.Error(got)
	}
}
