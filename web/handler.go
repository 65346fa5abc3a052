package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// ContentSecurityPolicy is the policy of the app's page. Scripts come from the
// binary alone. Styles may be inline because xterm.js writes style elements;
// the page puts no content of others into one.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed all:dist
var dist embed.FS

// Built reports whether this binary contains the app.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}

// Handler serves the app: its files, and its page for every other path, whose
// meaning the app itself looks up. Callers mount it behind all of their routes.
func Handler() http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is constant and valid
	}
	return handler{files}
}

type handler struct{ files fs.FS }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", ContentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name != "" && path.Ext(name) != ".gz" {
		found, err := h.serveFile(w, r, name)
		if err != nil {
			http.Error(w, "the file cannot be read", http.StatusInternalServerError)
			return
		}
		if found {
			return
		}
	}
	if strings.HasPrefix(name, "assets/") {
		// A page of an older version asks for a file that is gone.
		http.NotFound(w, r)
		return
	}
	found, err := h.serveFile(w, r, "index.html")
	switch {
	case err != nil:
		http.Error(w, "the page cannot be read", http.StatusInternalServerError)
	case !found:
		serveNotBuilt(w)
	}
}

// serveFile serves a file, compressed if the build made such a copy and the
// client accepts it. It reports false for one that does not exist.
func (h handler) serveFile(w http.ResponseWriter, r *http.Request, name string) (bool, error) {
	st, err := fs.Stat(h.files, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || err == nil && st.IsDir() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	stored := name
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if _, err := fs.Stat(h.files, name+".gz"); err == nil {
			stored = name + ".gz"
		}
	}
	raw, err := fs.ReadFile(h.files, stored)
	if err != nil {
		return false, err
	}
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	if stored != name {
		header.Set("Content-Encoding", "gzip")
	}
	if strings.HasPrefix(name, "assets/") {
		// Names of assets contain a hash of their content.
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		sum := sha256.Sum256(raw)
		header.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
		header.Set("Cache-Control", "no-cache")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(raw))
	return true, nil
}

const notBuilt = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Deft</title>
<h1>The web app is not part of this build</h1>
<p>Deft's server works. Its page was not built: <code>make run</code> or <code>make web</code> builds it, which needs npm.</p>
</html>
`

func serveNotBuilt(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(notBuilt)) // a client that has gone misses nothing
}
