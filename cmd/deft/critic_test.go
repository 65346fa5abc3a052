package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCritic serves a critic that answers with one score after the other, and sets a variable to its
// address: critic NAME KEY SCORE…. A negative score is a failure.
func cmdCritic(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: critic NAME KEY SCORE…")
	}
	var scores []float64
	for _, a := range args[2:] {
		score, err := strconv.ParseFloat(a, 64)
		ts.Check(err)
		scores = append(scores, score)
	}
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/classify" || r.Header.Get("Authorization") != "Bearer "+args[1] || !strings.Contains(string(body), "im_start") {
			http.Error(w, args[1], http.StatusUnauthorized)
			return
		}
		score := scores[min(int(asked.Add(1))-1, len(scores)-1)]
		if score < 0 {
			http.Error(w, args[1], http.StatusServiceUnavailable)
			return
		}
		probs := make([]float64, 27) // the reference's labels
		probs[0], probs[10] = score, 0.5
		if err := json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"probs": probs}}}); err != nil {
			ts.Logf("critic: %v", err)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}
