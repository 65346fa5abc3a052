package files

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// page serves a file of a workspace, or the index.html of a directory
// (docs/openhands/sdk-wire.md section 4.2).
func (s *Service) page(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathUUID(r, "conversation_id")
	if err != nil {
		return err
	}
	ws, err := s.o.WorkspaceOf(r.Context(), id)
	if err != nil {
		return err
	}
	files, err := ws.Open(r.Context())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return rest.Fail(http.StatusNotFound, "Workspace directory does not exist")
	}
	if err != nil {
		return err
	}
	defer files.Close()
	f, err := openPage(r.Context(), files, r.PathValue("file_path"))
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	guardPage(w, r, contentType(st.Name()))
	serve(w, r, f, st)
	return nil
}

// openPage opens a file of a workspace, or the index.html of a directory.
func openPage(ctx context.Context, files workspace.Files, path string) (workspace.File, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(files.Path(), path)
	}
	missing := "File not found"
	if st, err := files.Stat(ctx, path); err == nil && st.IsDir() {
		missing = "No index.html in directory"
		path = filepath.Join(path, "index.html")
	}
	f, err := files.Open(ctx, path)
	switch {
	case errors.Is(err, workspace.ErrOutside), errors.Is(err, syscall.EINVAL): // a null byte
		return nil, rest.Fail(http.StatusBadRequest, "Path is outside the workspace")
	case errors.Is(err, fs.ErrPermission):
		return nil, rest.Fail(http.StatusForbidden, "Permission denied")
	case fault.Is(err, fault.Unavailable):
		return nil, err
	case err != nil:
		return nil, rest.Fail(http.StatusNotFound, missing)
	}
	return f, nil
}

// The policies of pages. With either one a page cannot act as the user interface:
// it has an origin of its own, or no scripts.
//
// It sends nothing to other hosts: an agent without a network would have the user's. Scripts,
// styles and fonts of the hosts that pages mostly take libraries from are loaded, without
// which many pages would be blank.
const (
	alone    = "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads; " + contained
	embedded = "sandbox allow-same-origin; " + contained

	libraries = "https://cdn.jsdelivr.net https://cdnjs.cloudflare.com https://unpkg.com https://esm.sh https://cdn.tailwindcss.com https://fonts.googleapis.com https://fonts.gstatic.com"
	contained = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; script-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' " + libraries +
		"; style-src 'self' data: blob: 'unsafe-inline' " + libraries + "; font-src 'self' data: " + libraries + "; connect-src 'self' data: blob:; form-action 'self'; base-uri 'self'"
)

// guardPage sets the policy of a page. One in a frame keeps its origin, because
// only then does it get the cookie, and with it its images and styles; OpenHands'
// user interface gives its frames the same sandbox. A PDF viewer does not work in a
// sandbox and does not need one.
func guardPage(w http.ResponseWriter, r *http.Request, contentType string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache") // agents change their pages
	h.Add("Vary", "Sec-Fetch-Dest")
	switch dest := r.Header.Get("Sec-Fetch-Dest"); {
	case contentType == "application/pdf":
	case dest == "iframe", dest == "frame":
		h.Set("Content-Security-Policy", embedded)
	default:
		h.Set("Content-Security-Policy", alone)
	}
}

// contentTypes are types that the standard library lacks or that depend on the
// machine.
var contentTypes = map[string]string{
	".avif": "image/avif", ".bmp": "image/bmp", ".css": "text/css", ".csv": "text/csv", ".gif": "image/gif", ".htm": "text/html",
	".html": "text/html", ".ico": "image/vnd.microsoft.icon", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript",
	".json": "application/json", ".m4a": "audio/mp4", ".md": "text/markdown", ".mjs": "text/javascript", ".mov": "video/quicktime",
	".mp3": "audio/mpeg", ".mp4": "video/mp4", ".ogg": "audio/ogg", ".otf": "font/otf", ".pdf": "application/pdf", ".png": "image/png",
	".py": "text/x-python", ".svg": "image/svg+xml", ".ts": "text/plain", ".tsx": "text/plain", ".ttf": "font/ttf", ".txt": "text/plain",
	".wasm": "application/wasm", ".wav": "audio/x-wav", ".webm": "video/webm", ".webp": "image/webp", ".woff": "font/woff",
	".woff2": "font/woff2", ".xhtml": "application/xhtml+xml", ".xml": "text/xml", ".zip": "application/zip",
}

// contentType returns the type for a name; unknown ones are plain text.
func contentType(name string) string {
	ext := strings.ToLower(filepath.Ext(name))
	typ := contentTypes[ext]
	if typ == "" {
		typ, _, _ = strings.Cut(mime.TypeByExtension(ext), ";")
	}
	typ = cmp.Or(typ, "text/plain")
	if strings.HasPrefix(typ, "text/") {
		typ += "; charset=utf-8"
	}
	return typ
}
