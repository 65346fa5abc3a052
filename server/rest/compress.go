package rest

import (
	"compress/gzip"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzhttp"
)

// leastCompressed is the length in bytes from which an answer is compressed: a shorter one
// fits into a packet.
const leastCompressed = 1400

var compressor = sync.OnceValue(func() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.EnableZstd(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap
})

// Compressed returns a route whose long answers are compressed for clients that accept
// gzip. It is for large text without secrets, such as lists of events: the length of a
// compressed answer tells of its content.
func Compressed(r Route) Route {
	h := r.Handle
	r.Handle = func(w http.ResponseWriter, req *http.Request) (err error) {
		compressor()(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { err = h(w, req) }))(w, req)
		return err
	}
	return r
}
