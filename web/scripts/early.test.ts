// public/first.js asks by itself for what the first page wants: with the same words, or it
// would be asked twice.
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test, vi } from 'vitest';
import { Conversation } from '../src/api/conversation';
import { conversation, list } from '../src/api/conversations';

afterEach(() => vi.unstubAllGlobals());

// askedEarly runs first.js at an address, and returns its requests.
function askedEarly(pathname: string, { hash = '', search = '' } = {}): string[] {
  const window: { deftEarly?: () => Map<string, unknown> } = {};
  runInNewContext(readFileSync('public/first.js', 'utf8'), {
    window,
    location: { pathname, hash, search },
    URLSearchParams,
    navigator: { languages: ['en'] },
    localStorage: { getItem: () => null },
    document: { documentElement: { dataset: {} } },
    fetch: async () => new Response(),
    Response,
    setTimeout: () => {},
  });
  return [...(window.deftEarly?.().keys() ?? [])];
}

const id = '0123456789abcdef0123456789abcdef';

test.each([
  { name: 'that runs', key: 'key' },
  { name: 'whose sandbox does not run', key: null },
])('a conversation $name asks for what was asked early', async ({ key }) => {
  const asked: string[] = [];
  vi.stubGlobal('window', { location: { origin: 'http://127.0.0.1' } });
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path);
    const list = path.includes('/events/search') || path.includes('/app-conversations/search');
    return Response.json(list ? { items: [], next_page_id: null } : []);
  });
  await list('', null);
  await conversation(id);
  await new Conversation(id, key).events.window('older', null);
  expect(asked).toHaveLength(3);
  expect(askedEarly(`/conversations/${id}/files`)).toEqual(expect.arrayContaining(asked));
});

test('a link to an event asks for what is around it early', async () => {
  const asked: string[] = [];
  vi.stubGlobal('window', { location: { origin: 'http://127.0.0.1' } });
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path);
    return Response.json({});
  });
  const event = 'aaaaaaaa-0000-4000-8000-000000000001';
  const { events } = new Conversation(id, null);
  await events.window('older', event);
  await events.window('newer', event);
  await events.place(event);
  expect(asked).toHaveLength(3);
  expect(askedEarly(`/conversations/${id}`, { search: `?event=${event}:thought` })).toEqual(expect.arrayContaining(asked));
});

test('pages that need no sign-in, or sign in first, ask for nothing early', () => {
  expect(askedEarly(`/shared/${id}`)).toEqual([]);
  expect(askedEarly('/', { hash: '#login=code' })).toEqual([]);
});
