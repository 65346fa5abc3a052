// Package eventstream defines the store of events: a durable, ordered, append-only
// list for each conversation, which can be read, searched and followed. It is the
// only record of a conversation.
//
// # Usage
//
//	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
//	last, err := s.Append(ctx, id, ev)          // on disk before it returns
//	for rec, err := range s.Follow(ctx, id, 1) { // history, then live
//		…
//	}
//
// eventstream/sqlite is the store of one machine, eventstream/postgres the store
// of several. eventstreamtest holds the conformance suite that every store passes.
//
// # Concurrency
//
// A Stream is safe for concurrent use. A follower is a cursor and a wake-up,
// never a queue: a slow one costs its position and nothing else. Followers
// never delay an Append.
//
// # Failure
//
// An error of Append means that none of its events is stored. Errors carry the
// kinds of package fault: NotFound for an unknown conversation, Conflict for a
// taken id, Full when the disk is, Corrupt for stored data that does not read back
// as written; after any of them, intact data stays readable.
package eventstream

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/deft-dev/deft/event"
)

// Seq numbers the events of one conversation: 1, 2, 3 … without gaps.
type Seq int64

// Record is a stored event.
type Record struct {
	Seq       Seq
	ID        event.ID
	ParentID  event.ID
	Kind      string
	Source    event.Source
	Timestamp event.Timestamp
	// JSON is the event as it was encoded once, at Append. The same bytes go
	// to disk, sockets, webhooks and exports. Do not change them.
	JSON json.RawMessage
}

// Event decodes the record.
func (r Record) Event() (event.Event, error) { return event.Unmarshal(r.JSON) }

// Stream stores the events of many conversations.
type Stream interface {
	// Create makes an empty conversation. Conflict if the id exists.
	Create(ctx context.Context, id event.ConversationID, meta Meta) error
	// Append makes events durable, in order and all or none, and then visible
	// to readers and followers. It returns the Seq of the last one. NotFound
	// for an unknown conversation, Conflict for an event id that the
	// conversation already has, Invalid for an event that cannot be encoded.
	Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (Seq, error)
	// AppendRecords is Append for events that are encoded already, as imports
	// have them. Seq fields are ignored.
	AppendRecords(ctx context.Context, id event.ConversationID, recs ...Record) (Seq, error)
	// Read yields the stored events from Seq from on (1 is the first), as of
	// the moment of the call or later. A damaged event ends it with an error of
	// kind Corrupt that names its Seq; reading on from the next Seq works.
	Read(ctx context.Context, id event.ConversationID, from Seq) iter.Seq2[Record, error]
	// Follow yields the stored events from Seq from on and then those that
	// are appended later, without gap or duplicate. It ends with an error only:
	// Canceled when ctx ends or the stream is closed, NotFound when the
	// conversation is deleted, Corrupt as in Read.
	Follow(ctx context.Context, id event.ConversationID, from Seq) iter.Seq2[Record, error]
	// Search returns one page of the events that a query selects.
	Search(ctx context.Context, id event.ConversationID, q Query) (Page, error)
	// Count returns how many events a query selects, ignoring its page.
	Count(ctx context.Context, id event.ConversationID, q Query) (int, error)
	// Get returns one event by its id. NotFound if there is none.
	Get(ctx context.Context, id event.ConversationID, ev event.ID) (Record, error)
	// Fork makes conversation dst share the events of src that lie in
	// segments, which are ascending and do not overlap; their Seq in dst is 1,
	// 2, 3 …. It starts with the status and the cost of src. No event is
	// copied, and dst keeps the events when src is deleted. The time it takes
	// grows with the number of segments only.
	Fork(ctx context.Context, dst, src event.ConversationID, segments []Segment, meta Meta) error

	// Last returns the Seq of a conversation's last event, 0 if it has none.
	// It is faster than Info.
	Last(ctx context.Context, id event.ConversationID) (Seq, error)
	// Info describes one conversation.
	Info(ctx context.Context, id event.ConversationID) (Info, error)
	// List returns one page of conversations, without Meta.Extra. They are ordered by
	// the times in their Infos, then by creation. Conversations that are not updated
	// while all pages are read come exactly once.
	List(ctx context.Context, q ListQuery) (ListPage, error)
	// CountConversations returns how many conversations a query selects, ignoring
	// its page and its order.
	CountConversations(ctx context.Context, q ListQuery) (int, error)
	// WorkingDirs returns where the newest n conversations work, each directory once,
	// the newest conversation's first.
	WorkingDirs(ctx context.Context, n int) ([]string, error)
	// SetMeta replaces the Meta of a conversation.
	SetMeta(ctx context.Context, id event.ConversationID, meta Meta) error
	// Delete removes a conversation. Forks keep the events they share.
	Delete(ctx context.Context, id event.ConversationID) error
	// Close waits for the writes under way and closes the store.
	Close() error
}

// Segment is an unbroken run of events, both ends included.
type Segment struct{ First, Last Seq }

// Order is a sort order by Seq, or by time for conversations.
type Order int

// The orders.
const (
	Ascending Order = iota
	Descending
)

// Query selects events. Its zero value selects all.
type Query struct {
	Kinds  []string        // any of these; empty for all
	Source event.Source    // empty for all
	From   event.Timestamp // at or after; empty for no bound
	Before event.Timestamp // before; empty for no bound
	// Body is searched for in the text of messages, without regard to case.
	Body string
	// Text is searched for in the visible texts of an event, without regard to case:
	// messages, arguments of calls, their results and errors (see ShownKinds). Body
	// and Kinds count as well.
	Text  string
	Order Order
	// PageID is the id of the event a page starts with (inclusive), as
	// Page.NextID gave it. Empty or unknown starts at the beginning
	// (docs/openhands/sdk-wire.md section 4.1).
	PageID event.ID
	Limit  int // events in a page; 100 when 0
}

// Page is one page of a search. NextID is empty on the last page.
type Page struct {
	Records []Record
	NextID  event.ID
}

// Meta is stored about a conversation beside its events. It is not part of the
// State.
type Meta struct {
	// Owner is who the conversation is for. The store keeps it as it is given
	// and applies no default.
	Owner string `json:"owner,omitempty"`
	// Created is when the conversation was made, for Create and Fork: its
	// present time if zero. Listings are in this order. Info has it in a field
	// of its own, and SetMeta does not change it.
	Created time.Time         `json:"-"`
	Title   string            `json:"title,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
	// WorkingDir is the workspace's absolute path on the host.
	WorkingDir string               `json:"working_dir,omitempty"`
	Parent     event.ConversationID `json:"parent,omitempty"`
	ForkOf     event.ConversationID `json:"fork_of,omitempty"`
	// Extra is the session layer's record of how the conversation was made.
	Extra json.RawMessage `json:"extra,omitempty"`
	// Summary is JSON that describes the conversation as of SummaryAt, for
	// listings.
	Summary   json.RawMessage `json:"summary,omitempty"`
	SummaryAt Seq             `json:"summary_at,omitempty"`
}

// Info describes one conversation.
type Info struct {
	ID      event.ConversationID
	Created time.Time // UTC
	// Updated is when events were appended last, or the owner, the title or the
	// tags changed; a new Summary or Extra is no update. In UTC.
	Updated time.Time
	Events  Seq
	// Status is the value of the last execution_status update, "" if there was
	// none.
	Status string
	// Cost is the spending of the conversation, in US dollars: the sum over the
	// services of the last stats update, 0 if there was none.
	Cost float64
	Meta Meta
}

// ListQuery selects conversations. Its zero value lists all, newest first.
type ListQuery struct {
	// Status selects the conversations of this status; empty for all. A conversation
	// without a status is "idle".
	Status string
	// Owner selects the conversations of this owner; empty for all owners.
	Owner string
	// Title lists those whose title contains it, without regard to the case of ASCII
	// letters. Stores have an index for three characters and more. For a shorter text a page
	// is made of the next [Looked] conversations, in their order: it may have fewer than
	// Limit, or none, and a NextID where the search goes on. A count is then that among the
	// [Looked] newest conversations of Owner.
	Title string
	// CreatedFrom and UpdatedFrom select conversations of this time or later,
	// CreatedBefore and UpdatedBefore earlier ones; zero for no bound.
	CreatedFrom, CreatedBefore, UpdatedFrom, UpdatedBefore time.Time
	// WithoutParent lists those that no other conversation has started.
	WithoutParent bool
	// Only lists some conversations, as far as they exist and fit the rest of the
	// query; nil for all.
	Only      []event.ConversationID
	ByUpdated bool // order by Updated instead of Created
	Ascending bool
	// PageID is where the page starts: ListPage.NextID of the page before, or
	// the id of the page's first conversation. Empty or unknown starts at the
	// beginning.
	PageID string
	Limit  int // 100 when 0
	// Damaged is called for each conversation whose record is damaged, which is
	// then left out. If it is nil, such a record is an error. id is empty if it
	// cannot be read.
	Damaged func(id event.ConversationID, err error)
}

// Looked bounds how many conversations a page or a count looks at where no index serves
// the query.
const Looked = 10_000

// ListPage is one page of conversations. NextID is opaque: it goes into
// ListQuery.PageID to get the next page, and is empty on the last one.
type ListPage struct {
	Infos  []Info
	NextID string
}
