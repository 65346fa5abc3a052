// The events of a conversation: pages, filters, single ones.
import { EventSortOrder, RemoteEventsList } from '@openhands/typescript-client';
import { assert, client, group, keys, setup, refused, start, turn } from './cases.mjs';

const test = group('events');
const prefix = 'openhands.sdk.event.llm_convertible';
const kinds = {
  message: `${prefix}.message.MessageEvent`, action: `${prefix}.action.ActionEvent`,
  observation: `${prefix}.observation.ObservationEvent`,
};

let conversation, events;

test('order', async () => {
  conversation = await start();
  await turn(conversation, 'use the terminal');
  await turn(conversation, 'look for this');
  events = await conversation.state.events.getEvents();
  assert.ok(events.length >= 7, `${events.length} events`);
  for (const e of events) {
    keys(e, 'id', 'timestamp', 'source', 'kind');
    assert.match(e.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$/);
  }
  assert.equal(events[0].kind, 'SystemPromptEvent');
  assert.equal(typeof events[0].system_prompt.text, 'string');
  assert.ok(Array.isArray(events[0].tools));
  const list = conversation.state.events;
  const back = await list.search({ sort_order: EventSortOrder.TIMESTAMP_DESC });
  assert.deepEqual(back.items.map((e) => e.id), events.map((e) => e.id).reverse());
});

test('pages', async () => {
  const seen = [];
  let page_id;
  do {
    const page = await conversation.state.events.search({ limit: 2, page_id });
    assert.ok(page.items.length <= 2);
    seen.push(...page.items);
    page_id = page.next_page_id;
  } while (page_id);
  assert.deepEqual(seen, events);
  assert.deepEqual((await conversation.state.events.getEvents(1, 3)).map((e) => e.id), events.slice(1, 3).map((e) => e.id));
  await refused(422, () => conversation.state.events.search({ limit: 1000 }));
});

test('filters', async () => {
  const list = conversation.state.events;
  const found = async (filter) => (await list.search(filter)).items.map((e) => e.kind);
  assert.deepEqual(await found({ kind: kinds.action }), ['ActionEvent']);
  assert.deepEqual(await found({ kind: kinds.observation }), ['ObservationEvent']);
  assert.deepEqual(await found({ kind: `${prefix}.action.NoSuchEvent` }), []);
  assert.deepEqual(await found({ source: 'user' }), ['MessageEvent', 'MessageEvent']);
  assert.deepEqual(await found({ kind: kinds.message, source: 'user', body: 'LOOK FOR this' }), ['MessageEvent']);
  assert.deepEqual(await found({ body: 'nobody said this' }), []);
  const at = events[3].timestamp;
  const since = (await list.search({ timestamp__gte: at })).items, before = (await list.search({ timestamp__lt: at })).items;
  assert.equal(since[0].id, events.find((e) => e.timestamp >= at).id);
  assert.deepEqual([...before, ...since], events);
  await refused(422, () => list.search({ sort_order: 'SIDEWAYS' }));
  await refused(422, () => list.search({ timestamp__gte: 'yesterday' }));
});

test('counts', async () => {
  const list = conversation.state.events;
  assert.equal(await list.count(), events.length);
  assert.equal(await list.count({ source: 'user' }), 2);
  assert.equal(await list.count({ kind: kinds.action, timestamp__gte: events[0].timestamp }), 1);
  assert.equal(await list.count({ body: 'nobody said this', timestamp__lt: events[3].timestamp }), 0);
});

test('single events', async () => {
  const list = conversation.state.events;
  const one = await list.getEventById(events[2].id);
  for (const [k, v] of Object.entries(events[2])) if (typeof v === 'string') assert.equal(one[k], v);
  assert.deepEqual((await list.getEventsById([events[1].id, events[0].id])).map((e) => e.kind), [events[1].kind, events[0].kind]);
  await refused(404, () => client().conversations.getEvent('7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab', events[0].id));
  keys(await refused(404, () => list.getEventById('7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab')), 'detail');
});

test('cache of the client', async () => {
  const list = new RemoteEventsList({ baseUrl: setup.server, apiKey: setup.key }, conversation.id);
  assert.equal(await list.length(), 0);
  list.createDefaultCallback()(events[0]);
  await list.append(events[0]);
  assert.equal(await list.length(), 1);
  assert.equal((await list.getEvent(0)).id, events[0].id);
  const all = [];
  for await (const e of list) all.push(e.id);
  assert.deepEqual(all, events.map((e) => e.id));
});
