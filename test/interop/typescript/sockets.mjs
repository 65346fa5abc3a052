// Live events of a conversation.
import { WebSocketCallbackClient } from '@openhands/typescript-client';
import { assert, eventually, group, setup, reaches, start, text, turn } from './cases.mjs';

const test = group('sockets');

test('full state first, then what is new', async () => {
  const seen = [], errors = [];
  const conversation = await start({}, { callback: (e) => seen.push(e), onError: (e) => errors.push(e) });
  await turn(conversation, 'before anyone listens');
  await conversation.startWebSocketClient();
  await conversation.startWebSocketClient(); // a second start changes nothing
  await eventually('the first frame', () => seen.length, (n) => n > 0);
  assert.deepEqual([seen[0].kind, seen[0].key], ['ConversationStateUpdateEvent', 'full_state']);
  assert.equal(seen[0].value.execution_status, 'finished');
  await conversation.sendMessage('use the terminal');
  await conversation.run();
  await eventually('the end', () => seen.map((e) => [e.kind, e.key, e.value]),
    (all) => all.slice(1).some(([, key, value]) => key === 'execution_status' && value === 'running')
      && all.at(-1) && all.slice(1).some(([, key, value]) => key === 'execution_status' && value === 'finished'));
  const kept = seen.filter((e) => e.kind !== 'ConversationStateUpdateEvent' && e.kind !== 'StreamingDeltaEvent');
  const stored = await conversation.state.events.getEvents();
  const fresh = stored.filter((e) => e.kind !== 'ConversationStateUpdateEvent').slice(-kept.length);
  assert.deepEqual(kept.map((e) => e.id), fresh.map((e) => e.id));
  assert.ok(!kept.some((e) => e.kind === 'MessageEvent' && text(e) === 'before anyone listens'), 'an old event came again');
  assert.equal(await conversation.state.getExecutionStatus(), 'finished');
  assert.ok((await conversation.state.events.length()) >= kept.length);
  assert.deepEqual(errors, []);
  await conversation.stopWebSocketClient();
  await conversation.close();
});

test('events of two listeners', async () => {
  const conversation = await start();
  const lists = [[], []];
  const sockets = lists.map((list) => new WebSocketCallbackClient({
    host: setup.server, conversationId: conversation.id, apiKey: setup.key, callback: (e) => list.push(e),
  }));
  for (const s of sockets) s.start();
  await eventually('both to listen', () => lists.map((l) => l.length), ([a, b]) => a > 0 && b > 0);
  await turn(conversation, 'for two');
  const of = (list) => list.filter((e) => e.kind === 'MessageEvent').map(text);
  await eventually('both to hear', () => lists.map(of), ([a, b]) => a.length === 2 && b.length === 2);
  for (const s of sockets) s.stop();
  assert.deepEqual(of(lists[0]), ['for two', 'You said: for two']);
  assert.deepEqual(of(lists[0]), of(lists[1]));
});

// closed opens a socket and returns the code with which it was refused; 1006 means
// that the handshake failed.
const closed = (path) => new Promise((done) => {
  const socket = new WebSocket(setup.server.replace('http', 'ws') + path);
  socket.onclose = (e) => done(e.code);
});

test('keys', async () => {
  const conversation = await start();
  assert.ok([1006, 4001].includes(await closed(`/sockets/events/${conversation.id}?session_api_key=wrong`)));
  assert.ok([1006, 4001].includes(await closed('/sockets/bash-events?session_api_key=wrong')));
  assert.ok([1006, 4004].includes(await closed(`/sockets/events/7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab?session_api_key=${setup.key}`)));
  await reaches(conversation, 'idle');
});
