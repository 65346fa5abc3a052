// The store of one open conversation: loads the newest window, follows the
// WebSocket by cursor, and loads older windows on request. It goes to an event that is far from
// there by a window around it, which grows in both directions until it meets the newest one.
import type { Conversation } from '../api/conversation';
import type { EventPages } from '../api/events';
import { describe, Failure } from '../api/failure';
import { tr } from '../i18n/text';
import { lastKey, onKey } from '../design/typing';
import { isAnswer, type Answer } from './answer';
import type { Placed } from './branch';
import { isEvent, type Event } from '../api/event';
import { drawAt } from './pace';
import { append, empty, has, join, prepend, type Timeline } from './timeline';

export type Connection = 'connecting' | 'live' | 'lost' | 'gone' | 'none'; // none: there is nothing to follow

// More says whether there are further events in a direction.
export type More = 'none' | 'more' | 'loading';

export interface View {
  timeline: Timeline; // to the newest event
  connection: Connection;
  loaded: boolean; // the newest window is there
  failure: string; // why nothing could be loaded
  shown: Timeline; // the events to read: the timeline, or a part before it
  place: number; // another one: the shown events are others
  older: More; // than the shown ones
  newer: More; // none: the timeline is shown
  seeking: boolean; // an event is looked for
  missed: string; // why that cannot be shown
}

// Source is a conversation that a store reads, and follows while it is live.
export interface Source {
  readonly live: boolean;
  readonly events: EventPages;
  readonly socket?: Conversation['socket']; // missing: nobody here can steer it
}

// Delays between attempts to connect, in milliseconds. The first ones are short:
// a server that restarts is back within a second.
const delays = [100, 250, 500, 1000, 2000, 5000];

// Readable is a store, or a view that stays.
export type Readable = Pick<EventStore, 'subscribe' | 'get'>;

const nothingYet: View = {
  timeline: empty,
  connection: 'connecting',
  loaded: false,
  failure: '',
  shown: empty,
  place: 0,
  older: 'none',
  newer: 'none',
  seeking: false,
  missed: '',
};

// silent is the store of a conversation that is not followed.
export const silent: Readable = { subscribe: () => () => {}, get: () => nothingYet };

export class EventStore {
  private view = nothingYet;
  private readonly listeners = new Set<() => void>();
  private readonly waiting: (Event | Answer)[] = [];
  private arrived = 0; // when the first waiting event arrived
  private drawn = -Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private forget = () => {};
  private socket: WebSocket | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private attempts = 0;
  private before: string | null = null; // page of the next window that is older than the timeline
  private ends: Record<'older' | 'newer', string | null> = { older: null, newer: null }; // and of those next to a part that is shown instead
  private apart = false; // such a part is shown
  private wanted: string | null = null; // the event that is looked for
  private closed = false;

  constructor(private readonly source: Source) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): View => this.view;

  // open loads the newest events, and shows an event where one is named.
  open(event: string | null = null): void {
    this.closed = false;
    window.addEventListener('online', this.reconnect);
    this.forget = onKey(() => this.schedule());
    void this.load();
    if (event !== null) void this.seek(event);
  }

  close(): void {
    this.closed = true;
    window.removeEventListener('online', this.reconnect);
    this.forget();
    clearTimeout(this.retry);
    clearTimeout(this.timer);
    this.waiting.length = 0; // undrawn events come again after the cursor
    this.socket?.close();
  }

  private set(change: Partial<View>): void {
    const next = { ...this.view, ...change };
    // Nothing is shown before it is known whether the wanted event is elsewhere.
    if (!this.apart && !(next.seeking && next.shown === empty)) next.shown = next.timeline;
    this.view = next;
    for (const listener of this.listeners) listener();
  }

  private async load(): Promise<void> {
    try {
      const { events, next } = await this.source.events.window('older', null);
      if (this.closed) return;
      this.before = next;
      this.attempts = 0;
      const timeline = this.added(events.toReversed());
      if (this.wanted !== null && has(timeline, this.wanted)) this.wanted = null;
      this.set({ timeline, loaded: true, older: next ? 'more' : 'none', failure: '', seeking: this.wanted !== null });
      if (this.source.live) this.connect();
      else this.set({ connection: 'none' });
    } catch (error) {
      if (this.closed) return;
      this.set({ failure: describe(error), connection: 'lost' });
      this.later(() => void this.load());
    }
  }

  // added is the timeline with newer events.
  private added(events: (Event | Answer)[]): Timeline {
    const timeline = append(this.view.timeline, events);
    return this.source.socket ? timeline : { ...timeline, status: 'idle', draft: null };
  }

  private later(action: () => void): void {
    const delay = delays[Math.min(this.attempts++, delays.length - 1)];
    this.retry = setTimeout(action, delay);
  }

  private readonly reconnect = (): void => {
    if (this.view.connection !== 'lost') return;
    clearTimeout(this.retry);
    this.attempts = 0;
    if (this.view.loaded) this.connect();
    else void this.load();
  };

  private connect(): void {
    // Events of the cursor's own instant come again and are dropped by id.
    const cursor = this.view.timeline.cursor;
    const since = cursor ? `?resend_mode=since&after_timestamp=${encodeURIComponent(cursor)}` : '?resend_mode=all';
    const socket = this.source.socket?.('events', `${since}&answers=true&own_kinds=true`);
    if (!socket) return;
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      if (this.closed || this.socket !== socket) return;
      let event: unknown;
      try {
        event = JSON.parse(String(data));
      } catch {
        return; // not an event of the contract
      }
      if (!isEvent(event) && !isAnswer(event)) return;
      this.attempts = 0;
      this.waiting.push(event);
      if (this.waiting.length > 1) return;
      this.arrived = performance.now();
      this.schedule();
    };
    socket.onclose = ({ code }) => {
      if (this.closed || this.socket !== socket) return;
      this.flush();
      if (code === 4001 || code === 4004) {
        this.set({ connection: 'gone' });
        return;
      }
      // The next connection sends the unfinished answer from its beginning on.
      this.set({ connection: 'lost', timeline: { ...this.view.timeline, draft: null } });
      this.later(() => this.connect());
    };
  }

  // schedule has the events that wait drawn, at the time that is right by now.
  private schedule(): void {
    clearTimeout(this.timer);
    if (this.waiting.length === 0) return;
    const at = drawAt({ arrived: this.arrived, drawn: this.drawn, key: lastKey(), hidden: document.hidden });
    this.timer = setTimeout(() => this.flush(), at - performance.now());
  }

  private flush(): void {
    clearTimeout(this.timer);
    if (this.waiting.length === 0) return;
    this.drawn = performance.now();
    // The first event brings the present state; from then on the connection is live.
    const connection = this.socket?.readyState === WebSocket.OPEN ? 'live' : this.view.connection;
    const events = this.waiting.splice(0);
    this.set({ connection, timeline: this.added(events) });
    if (this.apart && events.some((e) => isEvent(e) && e.kind === 'ConversationStateUpdateEvent' && e.key === 'leaf_event_id')) void this.placeAgain();
  }

  readonly loadOlder = (): void => void this.grow('older');

  readonly loadNewer = (): void => void this.grow('newer');

  // grow loads the next window in a direction.
  private async grow(direction: 'older' | 'newer'): Promise<void> {
    const page = this.apart ? this.ends[direction] : direction === 'older' ? this.before : null;
    const { place } = this.view;
    if (this.view[direction] !== 'more' || page === null) return;
    this.set({ [direction]: 'loading' });
    try {
      const { events, next } = await this.source.events.window(direction, page);
      if (this.closed || this.view.place !== place) return;
      if (direction === 'newer') return this.extend(this.view.shown, events, next);
      if (this.apart) this.ends.older = next;
      else this.before = next;
      const grown = prepend(this.view.shown, events.toReversed());
      this.set({ ...(this.apart ? { shown: grown } : { timeline: grown }), older: next ? 'more' : 'none' });
    } catch {
      if (!this.closed && this.view.place === place) this.set({ [direction]: 'more' }); // scrolling there tries again
    }
  }

  // extend adds newer events to the part that is shown. Where it meets the timeline, both are one.
  private extend(part: Timeline, newer: Event[], next: string | null, change: Partial<View> = {}): void {
    const { timeline } = this.view;
    const at = newer.findIndex((e) => has(timeline, e.id));
    const shown = append(part, at < 0 ? newer : newer.slice(0, at));
    const met = at >= 0 || next === null || has(timeline, next);
    this.ends.newer = next;
    if (!met) {
      this.set({ ...change, shown, newer: 'more' });
      return;
    }
    this.apart = false;
    this.before = this.ends.older;
    // The last ones may not have come on the socket yet.
    this.set({ ...change, timeline: join(shown, at < 0 ? timeline : this.added(newer.slice(at))), newer: 'none' });
  }

  // goTo shows an event, if there is one with this id.
  goTo(event: string): void {
    if (this.wanted === event) return;
    if (this.view.missed !== '') this.set({ missed: '' });
    if (has(this.view.shown, event)) this.stopSeeking();
    else if (has(this.view.timeline, event)) this.showNewest();
    else void this.seek(event);
  }

  readonly showNewest = (): void => {
    this.stopSeeking();
    if (!this.apart) return;
    this.apart = false;
    this.set({ place: this.view.place + 1, older: this.before ? 'more' : 'none', newer: 'none' });
  };

  readonly forgetMissed = (): void => this.set({ missed: '' });

  private stopSeeking(): void {
    this.wanted = null;
    if (this.view.seeking) this.set({ seeking: false });
  }

  private async seek(event: string): Promise<void> {
    this.wanted = event;
    this.set({ seeking: true, missed: '' });
    const over = () => this.closed || this.wanted !== event || has(this.view.shown, event);
    try {
      const { events } = this.source;
      const [older, newer, branches] = await Promise.all([events.window('older', event), events.window('newer', event), events.place(event)]);
      await this.until((view) => view.loaded); // the newest events
      if (over()) return;
      this.wanted = null;
      this.apart = true;
      this.ends = { older: older.next, newer: newer.next };
      const part = withPlace(prepend(empty, older.events.toReversed()), { event, ...branches });
      this.extend(part, newer.events.slice(1), newer.next, { place: this.view.place + 1, older: older.next ? 'more' : 'none', seeking: false });
    } catch (error) {
      if (over()) return;
      this.wanted = null;
      this.set({ seeking: false, missed: error instanceof Failure && error.status === 404 ? tr('The event of this link is not in this conversation.') : describe(error) });
    }
  }

  // directory waits until the workspace's directory is known: the socket's first event brings it.
  async directory(): Promise<string> {
    await this.until((view) => view.timeline.directory !== '' || view.connection === 'gone');
    return this.view.timeline.directory;
  }

  private until(reached: (view: View) => boolean): Promise<void> {
    return new Promise((done) => {
      if (reached(this.view)) return done();
      const stop = this.subscribe(() => {
        if (!reached(this.view)) return;
        stop();
        done();
      });
    });
  }

  // placeAgain asks again which events of the shown part were undone, after a rewind.
  private async placeAgain(): Promise<void> {
    const { place, shown } = this.view;
    const event = shown.path.placed?.event;
    if (event === undefined) return;
    try {
      const branches = await this.source.events.place(event);
      if (this.apart && this.view.place === place) this.set({ shown: withPlace(this.view.shown, { event, ...branches }) });
    } catch {
      this.showNewest(); // which has the branch by itself
    }
  }
}

const withPlace = (timeline: Timeline, placed: Placed): Timeline => ({ ...timeline, path: { ...timeline.path, placed } });
