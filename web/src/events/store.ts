// The store of one open conversation: loads the newest window, follows the
// WebSocket by cursor, and loads older windows on request.
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { lastKey, onKey } from '../design/typing';
import { isEvent, type Event } from './event';
import { drawAt } from './pace';
import { append, empty, prepend, type Timeline } from './timeline';

export type Connection = 'connecting' | 'live' | 'lost' | 'gone' | 'none'; // none: there is nothing to follow

export interface View {
  timeline: Timeline;
  connection: Connection;
  loaded: boolean; // the newest window is there
  older: 'none' | 'more' | 'loading';
  failure: string; // why nothing could be loaded
}

// Delays between attempts to connect, in milliseconds. The first ones are short:
// a server that restarts is back within a second.
const delays = [100, 250, 500, 1000, 2000, 5000];

// Readable is a store, or a view that stays.
export type Readable = Pick<EventStore, 'subscribe' | 'get'>;

const nothingYet: View = { timeline: empty, connection: 'connecting', loaded: false, older: 'none', failure: '' };

// silent is the store of a conversation that is not followed.
export const silent: Readable = { subscribe: () => () => {}, get: () => nothingYet };

export class EventStore {
  private view = nothingYet;
  private readonly listeners = new Set<() => void>();
  private readonly waiting: Event[] = [];
  private arrived = 0; // when the first waiting event arrived
  private drawn = -Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private forget = () => {};
  private socket: WebSocket | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private attempts = 0;
  private next: string | null = null; // page of the next older window
  private closed = false;

  constructor(private readonly conversation: Conversation) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): View => this.view;

  open(): void {
    this.closed = false;
    window.addEventListener('online', this.reconnect);
    this.forget = onKey(() => this.schedule());
    void this.load();
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
    this.view = { ...this.view, ...change };
    for (const listener of this.listeners) listener();
  }

  private async load(): Promise<void> {
    try {
      const { events, next } = await this.conversation.eventsBefore(null);
      if (this.closed) return;
      this.next = next;
      this.attempts = 0;
      this.set({ timeline: append(this.view.timeline, events.toReversed()), loaded: true, older: next ? 'more' : 'none', failure: '' });
      if (this.conversation.live) this.connect();
      else this.set({ connection: 'none' });
    } catch (error) {
      if (this.closed) return;
      this.set({ failure: describe(error), connection: 'lost' });
      this.later(() => void this.load());
    }
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
    const socket = this.conversation.socket('events', since);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      if (this.closed || this.socket !== socket) return;
      let event: unknown;
      try {
        event = JSON.parse(String(data));
      } catch {
        return; // not an event of the contract
      }
      if (!isEvent(event)) return;
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
      // Lost pieces of an answer are not sent again: later ones still show, and the whole
      // answer once it is stored.
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
    this.set({ connection, timeline: append(this.view.timeline, this.waiting.splice(0)) });
  }

  readonly loadOlder = (): void => {
    if (this.view.older !== 'more' || this.next === null) return;
    this.set({ older: 'loading' });
    void this.loadBefore(this.next);
  };

  private async loadBefore(page: string): Promise<void> {
    try {
      const { events, next } = await this.conversation.eventsBefore(page);
      if (this.closed) return;
      this.next = next;
      this.set({ timeline: prepend(this.view.timeline, events.toReversed()), older: next ? 'more' : 'none' });
    } catch {
      this.set({ older: 'more' }); // scrolling up tries again
    }
  }
}
