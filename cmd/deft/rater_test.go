package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdRater serves an analyzer that answers with one risk after the other, and sets a variable to its
// address: rater NAME KEY RISK….
func cmdRater(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: rater NAME KEY RISK…")
	}
	risks := args[2:]
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+args[1] {
			http.Error(w, args[1], http.StatusUnauthorized)
			return
		}
		risk := risks[min(int(asked.Add(1))-1, len(risks)-1)]
		if err := json.NewEncoder(w).Encode(map[string]string{"risk": risk, "reason": "rated " + risk}); err != nil {
			ts.Logf("rater: %v", err)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}
