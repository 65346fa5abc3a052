import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Direction, EventPages, Window } from '../api/events';
import { Failure } from '../api/failure';
import type { Event } from '../api/event';
import { EventStore } from './store';

beforeEach(() => {
  vi.stubGlobal('window', { addEventListener: () => {}, removeEventListener: () => {} });
  vi.stubGlobal('document', { hidden: false, addEventListener: () => {} });
});
afterEach(() => vi.unstubAllGlobals());

const message = (n: number) => ({ kind: 'MessageEvent', id: `e${n}`, timestamp: String(n).padStart(6, '0'), source: 'user', llm_message: { role: 'user', content: [{ type: 'text', text: `message ${n}` }] } }) as Event;

// source is a conversation with the events 1 to n, in windows of ten.
function source(n: number) {
  const log = Array.from({ length: n }, (_, i) => message(i + 1));
  const asked: string[] = [];
  const window = (direction: Direction, page: string | null): Promise<Window> => {
    asked.push(`${direction} ${page ?? ''}`);
    const all = direction === 'older' ? log.toReversed() : log;
    const at = page === null ? 0 : all.findIndex((e) => e.id === page);
    if (at < 0) return Promise.reject(new Failure(404, 'Event not found'));
    return Promise.resolve({ events: all.slice(at, at + 10), next: all[at + 10]?.id ?? null });
  };
  const place = (event: string) => Promise.resolve({ at: log.findIndex((e) => e.id === event) + 1, active: [[1, log.length]] });
  return { log, asked, live: false, events: { window, place } as unknown as EventPages };
}

const ids = (store: EventStore) => store.get().shown.events.map((e) => e.id);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `e${from + i}`);

async function opened(n: number, event: string | null) {
  const from = source(n);
  const store = new EventStore(from);
  store.open(event);
  await vi.waitFor(() => expect(store.get()).toMatchObject({ loaded: true, seeking: false }));
  return { store, ...from };
}

test('a far event is shown by a window around it, with as many requests as for a near one', async () => {
  const { store, asked } = await opened(5000, 'e2500');
  expect(ids(store)).toEqual(range(2491, 2509));
  expect(store.get()).toMatchObject({ older: 'more', newer: 'more', missed: '' });
  expect(asked.sort()).toEqual(['newer e2500', 'older ', 'older e2500']);
});

test('windows grow in both directions, until they meet the newest events, without a gap or a double', async () => {
  for (const at of [3, 15, 31, 40, 52, 60, 61, 70]) {
    const { store } = await opened(70, `e${at}`);
    const places = new Set([store.get().place]);
    for (let i = 0; i < 20; i++) {
      store.loadOlder();
      store.loadNewer();
      await vi.waitFor(() => expect([store.get().older, store.get().newer]).not.toContain('loading'));
      const shown = ids(store);
      expect(shown).toEqual(range(Number(shown[0]?.slice(1)), Number(shown.at(-1)?.slice(1))));
      places.add(store.get().place);
    }
    expect(ids(store), `from ${at} on`).toEqual(range(1, 70));
    expect(store.get().shown).toBe(store.get().timeline);
    expect(places.size).toBe(1); // what is read stays where it is
  }
});

test('the newest events are shown again, and their older windows go on where they were', async () => {
  const { store } = await opened(100, 'e20');
  store.showNewest();
  expect(ids(store)).toEqual(range(91, 100));
  expect(store.get()).toMatchObject({ older: 'more', newer: 'none' });
  store.loadOlder();
  await vi.waitFor(() => expect(ids(store)).toEqual(range(81, 100)));
  store.goTo('e85'); // it is there
  expect(store.get()).toMatchObject({ newer: 'none', seeking: false });
  store.goTo('e20');
  await vi.waitFor(() => expect(ids(store)).toEqual(range(11, 29)));
  store.goTo('e95');
  expect(ids(store)).toEqual(range(81, 100));
});

test('an event that is not there is said, and the newest ones are shown', async () => {
  const { store } = await opened(50, 'none');
  expect(ids(store)).toEqual(range(41, 50));
  expect(store.get()).toMatchObject({ missed: 'The event of this link is not in this conversation.', newer: 'none' });
  store.forgetMissed();
  expect(store.get().missed).toBe('');
});

test('a window that comes too late changes nothing', async () => {
  const { store } = await opened(100, 'e20');
  store.loadNewer();
  store.showNewest();
  await new Promise((done) => setTimeout(done));
  expect(ids(store)).toEqual(range(91, 100));
  store.goTo('e20');
  store.goTo('e50');
  await vi.waitFor(() => expect(store.get().seeking).toBe(false));
  expect(ids(store)).toEqual(range(41, 59));
});
