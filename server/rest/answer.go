package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/deft-dev/deft/internal/optional"
)

// Success is the answer of routes without a result.
type Success struct {
	Success bool `json:"success"`
}

// Done is that answer.
var Done = Success{true}

// OK answers {"success": true}.
func OK(w http.ResponseWriter) error { return JSON(w, http.StatusOK, Done) }

// Valued returns the answer of a request, or its error.
type Valued func(r *http.Request) (any, error)

// Value returns a handler that answers with the value of h as JSON.
func Value(h Valued) Handler { return h.handler(http.StatusOK) }

// Created is [Value] with status 201, for a handler that makes something.
func Created(h Valued) Handler { return h.handler(http.StatusCreated) }

func (h Valued) handler(status int) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := h(r)
		if err != nil {
			return err
		}
		return JSON(w, status, v)
	}
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_page_id"`
}

// PageOf returns a page; next is where the next one begins, "" on the last.
func PageOf[T any](items []T, next string) Page[T] {
	return Page[T]{append([]T{}, items...), optional.Of(next)}
}

// Stamp writes a time as the contracts of the App Server have it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

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
