// Operations on a conversation: stop, git, usage, attachments, rename.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, page, panel, said, send, shows, t, test } from './page.mjs';
import { image, rename, stop } from './steps.mjs';

let dir;

stop(async () => {
  await panel('files');
  dir = await t('files-tab-workspace-path-value').innerText();
});

test('changes, commits and a diff', async () => {
  const git = (...args) => execFileSync('git', ['-C', dir, '-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args]);
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-q', '-m', 'The first commit');
  writeFileSync(join(dir, 'poem.txt'), 'Violets are blue\n');
  await page.reload();
  await said('You said: are you there?');
  await panel('commits');
  await shows('The first commit');
  await page.getByText('Uncommitted').click();
  // The page loads its diff editor from the Internet.
  const diff = page.waitForResponse((r) => r.url().includes('/api/git/diff') && r.request().method() === 'GET');
  await page.getByText('poem.txt').last().click();
  assert.deepEqual(await (await diff).json(), { original: 'Roses are red', modified: 'Violets are blue' });
});

test('usage', async () => {
  await panel('usage');
  await t('context-meter').waitFor();
  await panel('files');
});

image();

test('a file', async () => {
  await page.locator('input[type=file]').first().setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('a note\n') });
  await shows('note.txt');
  await send('read the note');
  await said('You said: read the note');
  assert.equal(readFileSync(join(dir, 'note.txt'), 'utf8'), 'a note\n');
});

rename();
