package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/domstorage"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"

	"github.com/deft-dev/deft/tool/internal/devtools"
)

// stored is the state of the browser's storage, in the form of the reference and of Playwright.
type stored struct {
	Cookies []cookie `json:"cookies"`
	Origins []origin `json:"origins"`
}

type cookie struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	URL      string  `json:"url,omitempty"`
	Domain   string  `json:"domain,omitempty"`
	Path     string  `json:"path,omitempty"`
	Expires  float64 `json:"expires,omitempty"` // in seconds since 1970; 0 and below for the end of the session
	HTTPOnly bool    `json:"httpOnly"`
	Secure   bool    `json:"secure"`
	SameSite string  `json:"sameSite,omitempty"`
}

type origin struct {
	Origin  string `json:"origin"`
	Local   []item `json:"localStorage,omitempty"`
	Session []item `json:"sessionStorage,omitempty"`
}

type item struct {
	Name  string `json:"name"`
	Key   string `json:"key,omitempty"` // another name of name
	Value string `json:"value"`
}

func (i item) name() string {
	if i.Name == "" {
		return i.Key
	}
	return i.Name
}

// maxStorage is how many characters of a storage one answer has.
const maxStorage = 40_000

// getStorage reads all cookies, and the storage of the origins that are open in tabs.
func (b *chromium) getStorage(ctx context.Context) (answer, error) {
	r, err := devtools.Call(ctx, b.conn, "", storage.GetCookies, storage.GetCookiesParams{})
	if err != nil {
		return answer{}, err
	}
	all := stored{Cookies: []cookie{}, Origins: []origin{}}
	for _, c := range r.Cookies {
		one := cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: string(c.SameSite)}
		if !c.Session {
			one.Expires = c.Expires
		}
		all.Cookies = append(all.Cookies, one)
	}
	b.mu.Lock()
	tabs := slices.Clone(b.tabs)
	b.mu.Unlock()
	for _, t := range tabs {
		if err := b.readOrigins(ctx, t, &all); err != nil {
			return answer{}, err
		}
	}
	text, err := encode(all)
	if over := len([]rune(text)) - maxStorage; err == nil && over > 0 {
		return answer{}, refusal(fmt.Sprintf("The storage has %d characters more than an answer can have (%d). Close tabs, or read single values on the page.", over, maxStorage))
	}
	return answer{text: foreign, page: text}, err
}

// readOrigins reads the storage of a tab's frames.
func (b *chromium) readOrigins(ctx context.Context, t *tab, all *stored) error {
	b.mu.Lock()
	gone := b.gone(t)
	b.mu.Unlock()
	if gone {
		return nil
	}
	r, err := ask(ctx, b, t, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return err
	}
	var walk func(*page.FrameTree) error
	walk = func(f *page.FrameTree) error {
		if err := b.readOrigin(ctx, t, f.Frame.SecurityOrigin, all); err != nil {
			return err
		}
		for _, c := range f.ChildFrames {
			if err := walk(c); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(r.FrameTree)
}

func (b *chromium) readOrigin(ctx context.Context, t *tab, name string, all *stored) error {
	if !strings.HasPrefix(name, "http") || slices.ContainsFunc(all.Origins, func(o origin) bool { return o.Origin == name }) {
		return nil
	}
	one := origin{Origin: name}
	for _, local := range []bool{true, false} {
		r, err := ask(ctx, b, t, domstorage.GetDOMStorageItems, domstorage.GetDOMStorageItemsParams{StorageID: &domstorage.StorageID{SecurityOrigin: name, IsLocalStorage: local}})
		if refused(err) {
			continue // a page may forbid it
		}
		if err != nil {
			return err
		}
		for _, e := range r.Entries {
			if len(e) != 2 {
				continue
			}
			if i := (item{Name: e[0], Value: e[1]}); local {
				one.Local = append(one.Local, i)
			} else {
				one.Session = append(one.Session, i)
			}
		}
	}
	if len(one.Local)+len(one.Session) > 0 {
		all.Origins = append(all.Origins, one)
	}
	return nil
}

// setStorage sets cookies and storage. An origin that no tab shows is visited for it, without a request that leaves.
func (b *chromium) setStorage(ctx context.Context, raw json.RawMessage) (answer, error) {
	var all stored
	if err := json.Unmarshal(raw, &all); err != nil {
		why := err.Error()
		if form, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			why = form.Field + " cannot be a JSON " + form.Value
		}
		return answer{}, refusal("storage_state is an object with lists cookies and origins, as browser_get_storage writes it: " + why)
	}
	var cookies []*network.CookieParam
	for _, c := range all.Cookies {
		if c.Name == "" || c.Domain == "" && c.URL == "" {
			return answer{}, refusal(fmt.Sprintf("The cookie %s has no name, or neither domain nor url.", quoted(c.Name)))
		}
		one := &network.CookieParam{
			Name: c.Name, Value: c.Value, URL: c.URL, Domain: c.Domain, Path: c.Path, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: network.CookieSameSite(c.SameSite),
		}
		if c.Expires > 0 {
			one.Expires = cdp.TimeSinceEpoch(c.Expires)
		}
		cookies = append(cookies, one)
	}
	for _, o := range all.Origins {
		if u, err := url.Parse(o.Origin); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.TrimSuffix(o.Origin, "/") != u.Scheme+"://"+u.Host {
			return answer{}, refusal(fmt.Sprintf("%s is no origin: it must be http:// or https:// with a host.", quoted(o.Origin)))
		}
	}
	if len(cookies) > 0 {
		if _, err := devtools.Call(ctx, b.conn, "", storage.SetCookies, storage.SetCookiesParams{Cookies: cookies}); err != nil {
			return answer{}, err
		}
	}
	shown, err := b.shown()
	if err != nil && len(all.Origins) > 0 {
		return answer{}, err
	}
	for _, o := range all.Origins {
		o.Origin = strings.TrimSuffix(o.Origin, "/")
		if err := b.setOrigin(ctx, shown, o); err != nil {
			return answer{}, err
		}
	}
	return answer{text: "Storage set successfully"}, nil
}

func (b *chromium) setOrigin(ctx context.Context, shown *tab, o origin) error {
	b.mu.Lock()
	here := strings.HasPrefix(shown.url, o.Origin+"/")
	b.mu.Unlock()
	if here {
		return b.fillOrigin(ctx, shown, o)
	}
	if len(o.Session) > 0 { // a tab has one of its own
		return refusal(fmt.Sprintf("The session storage of %s can be set only while the current tab shows a page of it: navigate there first.", quoted(o.Origin)))
	}
	t, err := b.newTab(ctx)
	if err != nil {
		return err
	}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.current = shown
		b.drop(t)
	}()
	if _, err := ask(ctx, b, t, fetch.Enable, fetch.EnableParams{}); err != nil {
		return err
	}
	b.mu.Lock()
	t.blank = true
	b.mu.Unlock()
	if err := b.visit(ctx, t, o.Origin+"/"); err != nil {
		return err
	}
	return b.fillOrigin(ctx, t, o)
}

// blankPage answers a request of a page that is opened for its storage only.
func (t *tab) blankPage(b *chromium, e devtools.Event) {
	if v, err := devtools.Decode(e, fetch.RequestPaused); err == nil && t.blank {
		send(b, t, fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: v.RequestID, ResponseCode: 200, Body: []byte("<!doctype html>"),
			ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"}},
		})
	}
}

func (b *chromium) fillOrigin(ctx context.Context, t *tab, o origin) error {
	for _, part := range []struct {
		items []item
		local bool
	}{{o.Local, true}, {o.Session, false}} {
		for _, i := range part.items {
			if i.name() == "" {
				return refusal("An entry of the storage of " + quoted(o.Origin) + " has no name.")
			}
			_, err := ask(ctx, b, t, domstorage.SetDOMStorageItem, domstorage.SetDOMStorageItemParams{
				StorageID: &domstorage.StorageID{SecurityOrigin: o.Origin, IsLocalStorage: part.local}, Key: i.name(), Value: i.Value,
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
