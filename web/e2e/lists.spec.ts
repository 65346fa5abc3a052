// The home page and the lists.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clean } from './axe';
import { expect, finish, log, run, shot, status, task, test, type Deft } from './deft';
import type { Page } from '@playwright/test';

const begin = async (deft: Deft, page: Page, text: string) => {
  await page.goto(deft.url);
  await page.getByRole('textbox', { name: 'Task' }).fill(text);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
};

test('lists that take long say so, and ones that fail say why without moving the page', async ({ deft, page }) => {
  await deft.serve();
  await deft.signIn(page);
  const settings = page.getByRole('link', { name: 'Settings' });
  const before = await settings.boundingBox();
  let fail = () => {};
  const held = new Promise<void>((done) => (fail = done));
  await page.route('**/api/v1/app-conversations/search*', async (route) => {
    await held;
    await route.fulfill({ status: 500, json: { detail: 'the disk is full' } });
  });
  await page.goto(`${deft.url}/conversations`);
  for (const place of [page.getByRole('main'), page.getByRole('navigation', { name: 'Conversations' })]) await expect(place.getByText('Loading …')).toBeVisible();
  expect(await settings.boundingBox()).toEqual(before);
  fail();
  for (const place of [page.getByRole('main'), page.getByRole('navigation', { name: 'Conversations' })]) await expect(place.getByRole('alert')).toHaveText('the disk is full');
  await expect(page.getByText('Loading …')).toHaveCount(0);
  expect(await settings.boundingBox()).toEqual(before);
});

for (const theme of ['light', 'dark'] as const) {
  test(`all conversations: search, state, tags, archive, delete: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await task(deft, page, [{ match: { user: 'Sleep' }, reply: { tool_calls: [run('sleep 300')] } }, finish('Ready.')], 'First', { conversation_settings_diff: {} });
    await expect(status(page, 'Finished')).toBeVisible();
    await begin(deft, page, 'Sleep for long');
    await expect(log(page).getByRole('button', { name: /Run sleep/ })).toBeVisible();
    await page.getByRole('link', { name: 'All conversations' }).click();
    const row = (text: string | RegExp) => page.getByRole('row').filter({ has: page.getByRole('link', { name: text }) });
    await expect(row(/Sleep for long/)).toContainText('Working');
    await expect(row('A short title')).toContainText('Finished');
    await expect(row('A short title')).not.toContainText('$'); // the price is not known
    await row('A short title').getByRole('button', { name: 'Actions of A short title' }).click();
    await page.getByRole('menuitem', { name: 'Tags' }).click();
    await page.getByRole('textbox', { name: 'Tags, separated by blanks' }).fill('team=web');
    await page.keyboard.press('Enter');
    await expect(row('A short title')).toContainText('#team=web');
    await clean(page, 'all conversations');
    await shot(page, `all-${theme}`);
    await page.setViewportSize({ width: 390, height: 780 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await shot(page, `all-phone-${theme}`);
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.getByRole('combobox', { name: 'Show by state' }).selectOption('Working');
    await expect(row('A short title')).toHaveCount(0);
    await expect(row(/Sleep for long/)).toBeVisible();
    await page.getByRole('combobox', { name: 'Show by state' }).selectOption('All but archived');
    await page.getByRole('combobox', { name: 'Show by tag' }).selectOption('#team');
    await expect(row(/Sleep for long/)).toHaveCount(0);
    await page.getByRole('combobox', { name: 'Show by tag' }).selectOption('Any tag');
    await page.getByRole('searchbox', { name: 'Search by title' }).fill('sleep');
    await expect(row('A short title')).toHaveCount(0);
    await page.getByRole('searchbox', { name: 'Search by title' }).fill('');

    await row('A short title').getByRole('button', { name: 'Actions of A short title' }).click();
    await page.getByRole('menuitem', { name: 'Archive' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
    await expect(row('A short title')).toHaveCount(0);
    await page.getByRole('combobox', { name: 'Show by state' }).selectOption('Archived');
    await expect(row('A short title')).toContainText('Archived');
    await row('A short title').getByRole('button', { name: 'Actions of A short title' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect(page.getByText('No conversation is like that.')).toBeVisible();
  });
}

test('many at once: the list follows, and none blocks another', async ({ deft, page }) => {
  const many = 12;
  await task(deft, page, [{ reply: { tool_calls: [run('sleep 300')] } }], 'Number 0');
  for (let i = 1; i < many; i++) {
    const answer = await page.request.post(`${deft.url}/api/v1/app-conversations`, {
      headers: { Origin: deft.url },
      data: { initial_message: { role: 'user', content: [{ type: 'text', text: `Number ${i}` }], run: true } },
    });
    expect(answer.ok(), await answer.text()).toBe(true);
  }
  await page.goto(`${deft.url}/conversations`);
  await expect(page.getByRole('row').filter({ hasText: 'Working' })).toHaveCount(many);
  await shot(page, 'many');
  await page.goto(deft.url);
  await expect(page.getByRole('region', { name: 'At work' }).getByRole('link')).toHaveCount(6);
  await shot(page, 'home-many');
});

test('templates are kept in the browser, used and removed', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  const box = page.getByRole('textbox', { name: 'Task' });
  await box.fill('Update the dependencies');
  await page.getByRole('button', { name: 'Keep as a template' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Update the dependencies', exact: true }).click();
  await expect(box).toHaveValue('Update the dependencies');
  await clean(page, 'a template');
  await page.getByRole('button', { name: 'Remove the template' }).click();
  await expect(page.getByRole('list', { name: 'Examples' })).toBeVisible();
});

test('files are attached by drop, by paste, and by the button', async ({ deft, page }) => {
  await task(deft, page, [finish('Ready.'), { match: { user: 'uploads/data.bin', assistant_turns: 1 }, reply: { tool_calls: [run('wc -c < uploads/data.bin')] } }, { match: { tool_result: '3000' }, ...finish('Counted.') }], 'Prepare');
  await expect(status(page, 'Finished')).toBeVisible();
  const drop = (kind: 'drop' | 'paste', name: string, type: string, size: number) =>
    page.getByRole('textbox').last().evaluate(
      (box, [kind, name, type, size]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(size as number).fill(7)], name as string, { type: type as string }));
        box.dispatchEvent(
          kind === 'drop' ? new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }) : new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data }),
        );
      },
      [kind, name, type, size] as const,
    );
  await drop('drop', 'data.bin', 'application/octet-stream', 3000);
  await expect(page.getByText('data.bin')).toBeVisible();
  await drop('paste', 'picture.png', 'image/png', 10);
  await expect(page.getByRole('img', { name: 'Attached image 1' })).toHaveCount(1);
  await clean(page, 'attached files');
  await shot(page, 'attached');
  await page.getByRole('button', { name: 'Remove image 1' }).click();
  await page.getByRole('textbox', { name: 'Message' }).fill('Count it');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Attached files: uploads/data.bin')).toBeVisible();
  await expect(log(page).getByText('Counted.')).toBeVisible();
  await log(page).getByRole('button', { name: /Run wc/ }).click();
  await expect(log(page).getByRole('group', { name: 'Output' })).toHaveText('3000');

  await page.goto(deft.url);
  await page.locator('.composer input[type=file]').setInputFiles([
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('remember the milk') },
    { name: 'large.txt', mimeType: 'text/plain', buffer: Buffer.alloc(100_000, 'x') },
    { name: 'data.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0xff, 0, 1]) },
    { name: 'readme.md', mimeType: 'text/markdown', buffer: Buffer.from('# Use\n```sh\nmake\n```\n') },
  ]);
  const refused = page.locator('.composer-problem');
  await expect(refused).toContainText('large.txt is larger than 64 KB');
  await expect(refused).toContainText('data.bin is not a text');
  await drop('drop', 'more.bin', 'application/octet-stream', 10);
  await expect(refused).toHaveText(/^$/); // sevens are a text
  await drop('paste', 'big.txt', 'text/plain', 70_000);
  await expect(refused).toContainText('big.txt is larger');
  const attached = page.locator('.composer-files li');
  await expect(attached).toHaveText([/notes\.txt/, /readme\.md/, /more\.bin/]);
  await clean(page, 'refused files');
  await shot(page, 'refused-files');
  await page.getByRole('button', { name: 'Remove more.bin' }).click();
  await page.getByRole('textbox', { name: 'Task' }).press('Enter');
  await expect(log(page).locator('.message.user pre')).toHaveText(['remember the milk', '# Use\n```sh\nmake\n```']);
  await clean(page, 'attached texts');
  await shot(page, 'attached-texts');
});

test('what waits at a Git host is suggested, and fills in task and repository', async ({ deft, page }) => {
  const asked: string[] = [];
  await deft.script([]);
  await deft.serve();
  await deft.signIn(page);
  const hub = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('Content-Type', 'application/json');
    const path = request.url ?? '';
    if (path.includes('/search/')) response.end('{"items": []}');
    else response.end(path.endsWith('/user') ? '{"id": 1, "login": "octocat"}' : '[]');
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const stored = await page.request.post(`${deft.url}/api/v1/secrets/git-providers`, {
    headers: { Origin: deft.url },
    data: { provider_tokens: { github: { token: 'ghp-0123456789abcdefghij', host: `http://127.0.0.1:${(hub.address() as AddressInfo).port}` } } },
  });
  expect(stored.ok(), await stored.text()).toBe(true);
  // Answers of hosts are forge's matter; here, the page's use of them.
  await page.route('**/suggested-tasks/search*', (route) =>
    route.fulfill({ json: { items: [{ git_provider: 'github', task_type: 'FAILING_CHECKS', repo: 'octocat/hello', issue_number: 7, title: 'Bump <b>it</b>' }], next_page_id: null } }),
  );
  await deft.setModel(page);
  const suggested = page.getByRole('region', { name: 'Suggested' });
  await expect(suggested).toContainText('Bump <b>it</b>');
  await clean(page, 'suggested tasks');
  await shot(page, 'suggested');
  await suggested.getByRole('button').click();
  await expect(page.getByRole('textbox', { name: 'Task' })).toHaveValue(/The checks of pull request #7 of octocat\/hello/);
  await expect(page.getByRole('combobox', { name: 'Repository' })).toHaveValue('octocat/hello');
  await page.goto('about:blank'); // it asks the host no more
  await new Promise((done) => hub.close(done));
});
