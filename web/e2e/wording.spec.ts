// The words of rows, messages and lists.
import { clean } from './axe';
import { expect, finish, log, run, shot, task, test, variants } from './deft';

for (const [name, theme, size] of variants) {
  test(`rows have the model’s summary, messages their code, and output no hidden directions: ${name}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize(size);
    const command = { name: 'terminal', arguments: { command: String.raw`printf 'access \342\200\256admin\342\201\246 level\n'`, summary: 'Print a level' } };
    const view = { name: 'file_editor', arguments: { command: 'view', path: '{{find "in (/[^ \\n]+)" .LastToolResult}}/note.txt' } };
    await task(deft, page, [{ reply: { tool_calls: [run('echo a note > note.txt; echo "in $PWD"')] } }, { reply: { tool_calls: [view] } }, { reply: { tool_calls: [command] } }, finish('Done.')], 'Run `printf` in **one** `line`');
    await expect(log(page).getByText('Done.')).toBeVisible();
    await expect(log(page).locator('.user-text code')).toHaveText(['printf', 'line']);
    await expect(log(page).locator('.user-text')).toHaveText('Run printf in **one** line');
    await expect(log(page).getByRole('button', { name: 'Read note.txt' })).toBeVisible();
    await log(page).getByRole('button', { name: 'Read note.txt' }).click();
    await expect(log(page).locator('.arguments')).toHaveText(/^commandviewpath\/.*note.txt$/);
    await log(page).getByRole('button', { name: 'Read note.txt' }).click();
    const line = log(page).getByRole('button', { name: /Run Print a level printf/ });
    await line.click();
    await expect(log(page).getByRole('group', { name: 'Output', exact: true }).last()).toHaveText(String.raw`access \u{202e}admin\u{2066} level`);
    await shot(page, `wording-rows-${name}`);
    await clean(page, 'a row with a summary');
  });
}

test('a fork has a title of its own, and a shared page has the conversation’s', async ({ deft, page, browser }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('echo one')] } }, finish('Done.')], 'Begin');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await expect(page).toHaveTitle('A short title · Deft');
  const id = page.url().split('/').pop() ?? '';
  expect((await page.request.patch(`${deft.url}/api/v1/app-conversations/${id}`, { headers: { Origin: deft.url }, data: { public: true } })).ok()).toBe(true);
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(`${deft.url}/shared/${id}`);
  await expect(stranger).toHaveTitle('A short title · Deft');
  const made = await page.request.post(`${deft.url}/api/v1/app-conversations/${id}/fork`, { headers: { Origin: deft.url }, data: { event_id: null, same_files: true } });
  expect(made.ok()).toBe(true);
  await page.reload();
  await expect(page.getByRole('link', { name: /A short title \(2\)/ })).toBeVisible();
  const answer = await page.request.get(`${deft.url}/api/v1/conversation/${id}/events/search?limit=100`);
  expect(answer.headers()['content-encoding']).toBe('gzip');
});

test('a start that failed can be put away in the list', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  const made = await page.request.post(`${deft.url}/api/v1/app-conversations`, {
    headers: { Origin: deft.url },
    data: { selected_repository: 'https://127.0.0.1:1/owner/name', initial_message: { role: 'user', content: [{ type: 'text', text: 'Cannot start' }] } },
  });
  expect(made.ok()).toBe(true);
  const entry = page.getByRole('link', { name: /Cannot start/ });
  await page.reload();
  await expect(entry).toContainText('Not started');
  await page.getByRole('button', { name: 'Put away Cannot start' }).click();
  await expect(entry).toHaveCount(0);
  await page.reload();
  await expect(page.getByText('Your conversations will be listed here.')).toBeVisible();
});
