// Files, the static files of a workspace, and git.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConversationManager, RemoteWorkspace } from '@openhands/typescript-client';
import { assert, client, folder, group, keys, setup, refused, start, workspace } from './cases.mjs';

const test = group('files');
const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 31) % 256);

test('upload and download', async () => {
  const { files } = client();
  const dir = folder();
  keys(await files.uploadTextFile('grüße\n', join(dir, 'new/text.txt'), 'x.txt'), 'success');
  assert.equal(await files.downloadTextFile(join(dir, 'new/text.txt')), 'grüße\n');
  await files.uploadFile(new Blob([bytes]), join(dir, 'binary'));
  assert.deepEqual(new Uint8Array(await files.downloadFile(join(dir, 'binary'))), bytes);
  await files.uploadFile(new File(['of a form'], 'form.txt'), join(dir, 'form'));
  assert.equal(readFileSync(join(dir, 'form'), 'utf8'), 'of a form');
  keys(await refused(404, () => files.downloadFile(join(dir, 'absent'))), 'detail');
  keys(await refused(400, () => files.downloadFile('relative.txt')), 'detail');
  keys(await refused(400, () => files.uploadFile('x', 'relative.txt')), 'detail');
});

test('workspace', async () => {
  const w = workspace();
  const path = join(w.workingDir, 'a.txt');
  keys(await w.fileUpload('hello', path), 'success', 'destination_path');
  assert.equal(await w.downloadAsText(path), 'hello');
  assert.equal(await (await w.downloadAsBlob(path)).text(), 'hello');
  assert.equal((await w.fileDownload(path)).success, true);
  await w.uploadText('hello again', path, 'a.txt');
  await w.uploadFileObject(new File(['{"a": [1]}'], 'b.json'), join(w.workingDir, 'b.json'));
  assert.equal(readFileSync(path, 'utf8'), 'hello again');
  await refused(404, () => w.fileDownload(join(w.workingDir, 'absent')));
  w.close();
});

test('home and directories', async () => {
  const { files } = client();
  const home = keys(await files.getHome(), 'home', 'favorites', 'locations');
  assert.ok(home.home.startsWith('/'));
  keys(await files.getHome({ includeHidden: true }), 'home');
  const dir = folder();
  for (const name of ['a', 'b', '.c', 'd']) mkdirSync(join(dir, name));
  writeFileSync(join(dir, 'file'), '');
  const first = await files.searchSubdirectories(dir, { limit: 2 });
  assert.deepEqual(first.items.map((i) => [i.name, i.path]), [['a', join(dir, 'a')], ['b', join(dir, 'b')]]);
  const rest = await files.searchSubdirectories(dir, { limit: 2, pageId: first.next_page_id });
  assert.deepEqual(rest.items.map((i) => i.name), ['d']);
  assert.equal(rest.next_page_id, null);
  const all = await files.searchSubdirectories(dir, { includeHidden: true });
  assert.deepEqual(all.items.map((i) => i.name).sort(), ['.c', 'a', 'b', 'd']);
  await refused(404, () => files.searchSubdirectories(join(dir, 'absent')));
});

test('static files of a conversation', async () => {
  const conversation = await start();
  const w = conversation.workspace;
  writeFileSync(join(w.workingDir, 'page.html'), '<p>hi</p>');
  const base = await w.startWorkspaceSession(conversation.id);
  const session = await fetch(`${setup.server}/api/auth/workspace-session`, { method: 'POST', headers: { 'X-Session-API-Key': setup.key } });
  assert.equal(session.status, 204);
  const cookie = session.headers.get('set-cookie');
  assert.match(cookie, /^oh_workspace_session_key=[^;]+;.*HttpOnly/i);
  const read = (headers) => fetch(`${base}page.html`, { headers });
  assert.equal(await (await read({ cookie: cookie.split(';')[0] })).text(), '<p>hi</p>');
  assert.equal((await read({ 'X-Session-API-Key': setup.key })).status, 200);
  assert.equal((await read({})).status, 401);
  assert.equal((await read({ cookie: 'oh_workspace_session_key=wrong' })).status, 401);
  assert.equal((await fetch(`${base}absent`, { headers: { 'X-Session-API-Key': setup.key } })).status, 404);
  await w.deleteWorkspaceSession();
});

test('git', async () => {
  const w = workspace();
  const git = (...args) => execFileSync('git', ['-C', w.workingDir, '-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args]);
  git('init', '-q', '-b', 'main');
  writeFileSync(join(w.workingDir, 'kept.txt'), 'one\n');
  git('add', '.');
  git('commit', '-q', '-m', 'first');
  writeFileSync(join(w.workingDir, 'kept.txt'), 'two\n');
  writeFileSync(join(w.workingDir, 'added.txt'), 'new\n');
  const want = [{ status: 'ADDED', path: 'added.txt' }, { status: 'UPDATED', path: 'kept.txt' }];
  const plain = (list) => list.map(({ status, path }) => ({ status, path })).sort((a, b) => (a.path < b.path ? -1 : 1));
  assert.deepEqual(plain(await w.gitChanges(w.workingDir)), want);
  assert.deepEqual(plain(await w.gitChanges(w.workingDir, { ref: 'HEAD' })), want);
  assert.deepEqual(await w.gitDiff(join(w.workingDir, 'kept.txt'), { ref: 'HEAD' }), { modified: 'two', original: 'one' });
  keys(await w.gitDiff(join(w.workingDir, 'added.txt')), 'modified', 'original');
  await assert.rejects(() => w.gitChanges(), /Failed to get git changes.*422/);
  await assert.rejects(() => w.gitDiff(), /Failed to get git diff.*422/);
});

test('trajectory', async () => {
  const { files } = client();
  const conversation = await start();
  for (const blob of [await conversation.downloadTrajectory(), await files.downloadTrajectory(conversation.id)]) {
    const head = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
    assert.deepEqual([...head], [0x50, 0x4b], 'not a zip file');
  }
  await refused(404, () => files.downloadTrajectory('7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab'));
  files.close();
});
