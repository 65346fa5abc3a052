package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// Success is the answer of routes without a result.
type Success struct {
	Success bool `json:"success"`
}

// OK answers {"success": true}.
func OK(w http.ResponseWriter) error { return JSON(w, http.StatusOK, Success{true}) }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// JSON answers with a value. It is encoded before anything is sent, so that a
// value that cannot be encoded is an error of its own.
func JSON(w http.ResponseWriter, status int, v any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer func() {
		if b.Cap() <= 1<<20 {
			b.Reset()
			buffers.Put(b)
		}
	}()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return Bytes(w, status, b.Bytes()[:b.Len()-1])
}

// Off answers in the reference's words for features that are switched off or not there. It is
// no failure of the server, so nothing is logged.
func Off(w http.ResponseWriter, status int, why string) error {
	return JSON(w, status, map[string]string{"detail": http.StatusText(http.StatusInternalServerError), "exception": why})
}

// Bytes answers with encoded JSON.
func Bytes(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return ErrBroken
	}
	return nil
}
