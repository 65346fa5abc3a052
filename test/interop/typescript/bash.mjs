// Commands outside of conversations, and their history.
import { BashWebSocketClient, RemoteWorkspace } from '@openhands/typescript-client';
import { assert, client, eventually, folder, group, keys, setup, refused, workspace } from './cases.mjs';

const test = group('bash');
const unknownID = '7c1f6f3e3b7c4a9a9b1a0123456789ab';

test('execute', async () => {
  const { bash } = client();
  const dir = folder();
  const out = keys(await bash.executeCommand('printf out; printf err >&2; exit 3', dir, 10),
    'id', 'timestamp', 'command_id', 'order', 'kind');
  assert.deepEqual([out.kind, out.exit_code, out.stdout, out.stderr], ['BashOutput', 3, 'out', 'err']);
  assert.equal((await bash.executeCommand({ command: 'pwd', cwd: dir, timeout: 9.7 })).stdout, `${dir}\n`);
  const late = await bash.executeCommand('printf begun; sleep 60', dir, 1);
  assert.notEqual(late.exit_code, 0);
});

test('execute in a workspace', async () => {
  const w = workspace();
  const result = await w.executeCommand('echo $((6*7)); false', w.workingDir, 5);
  assert.deepEqual(result, { command: 'echo $((6*7)); false', exit_code: 1, stdout: '42\n', stderr: '', timeout_occurred: false });
  assert.equal((await w.executeCommand('true')).exit_code, 0);
  w.close();
});

test('start, search, get', async () => {
  const { bash } = client();
  const command = keys(await bash.startCommand('echo first; sleep 0.05; echo second', folder(), 10), 'id', 'timestamp', 'command', 'cwd', 'timeout');
  assert.equal(command.kind, 'BashCommand');
  const page = await eventually('output', () => bash.searchEvents({ command_id__eq: command.id, kind__eq: 'BashOutput' }),
    (p) => p.items.some((e) => e.exit_code === 0));
  keys(page, 'next_page_id');
  assert.equal(page.items.map((e) => e.stdout).join(''), 'first\nsecond\n');
  const last = page.items.at(-1);
  assert.deepEqual(await bash.getEvent(last.id), last);
  assert.deepEqual(await bash.getEvent(command.id), command);
  assert.deepEqual(await bash.getEvents([command.id, unknownID]), [command, null]);
  assert.deepEqual(await bash.batchGetEvents([last.id, unknownID, command.id]), [last, null, command]);
  await refused(404, () => bash.getEvent(unknownID));
  await refused(422, () => bash.searchEvents({ kind__eq: 'NoSuchKind' }));
  await refused(422, () => bash.executeCommand({ cwd: '/tmp' }));
});

test('socket', async () => {
  const { bash } = client();
  const before = await bash.executeCommand('echo before the socket');
  const seen = [], errors = [];
  const socket = new BashWebSocketClient({
    host: setup.server, apiKey: setup.key, resendMode: 'all', callback: (e) => seen.push(e), onError: (e) => errors.push(e),
  });
  socket.start();
  socket.start(); // a second start changes nothing
  await eventually('history', () => seen.slice(), (s) => s.some((e) => e.id === before.id));
  const after = await bash.executeCommand('echo after the socket');
  await eventually('new output', () => seen.slice(), (s) => s.some((e) => e.id === after.id));
  socket.stop();
  assert.equal(seen.find((e) => e.id === after.id).stdout, 'after the socket\n');
  assert.deepEqual([...new Set(seen.map((e) => e.kind))].sort(), ['BashCommand', 'BashOutput']);
  assert.deepEqual(errors, []);
});

test('clear', async () => {
  const { bash } = client();
  await bash.executeCommand('true');
  const { cleared_count: n } = await bash.clearEvents();
  assert.ok(n >= 2, `${n} cleared`);
  assert.deepEqual((await bash.searchEvents()).items, []);
  bash.close();
});
