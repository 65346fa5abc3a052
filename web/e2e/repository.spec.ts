// The repository that a task starts with.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, finish, log, test } from './deft';

const token = 'ghp-0123456789abcdefghij';

// gitHub is a GitHub Enterprise server with a private repository of two branches,
// which cannot be cloned.
async function gitHub() {
  const asked: string[] = [];
  const repository = { id: 7, full_name: 'octocat/hello', private: true, default_branch: 'main', owner: { type: 'User' } };
  const answers: Record<string, unknown> = {
    '/api/v3/user': { id: 1, login: 'octocat' },
    '/api/v3/user/repos': [repository],
    '/api/v3/search/repositories': { items: [repository] },
    '/api/v3/repos/octocat/hello': repository,
    '/api/v3/repos/octocat/hello/branches': ['main', 'fix'].map((name) => ({ name, commit: { sha: '0'.repeat(40) } })),
  };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname;
    asked.push(path);
    const answer = request.headers.authorization === `Bearer ${token}` ? answers[path] : undefined;
    response.writeHead(answer ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: 'Not Found' }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close: () => new Promise((done) => server.close(done)) };
}

test('repositories and branches of a Git host are offered, and the start names them', async ({ deft, page }) => {
  const hub = await gitHub();
  await deft.script([]);
  await deft.serve();
  await deft.signIn(page);
  const stored = await page.request.post(`${deft.url}/api/v1/secrets/git-providers`, {
    headers: { Origin: deft.url },
    data: { provider_tokens: { github: { token, host: hub.url } } },
  });
  expect(stored.ok(), await stored.text()).toBe(true);
  await deft.setModel(page);
  const repository = page.getByRole('combobox', { name: 'Repository' });
  await expect(page.locator('#home-repositories option')).toHaveText(['private']);
  await expect(page.locator('#home-repositories option')).toHaveAttribute('value', 'octocat/hello');
  await repository.fill('octocat/hello');
  const branch = page.getByRole('combobox', { name: 'Branch' });
  await expect(branch).toHaveAttribute('placeholder', 'main');
  await expect(page.locator('#home-branches option')).toHaveCount(2);
  await branch.fill('fix');
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'repository.png') });
  const start = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/v1/app-conversations'));
  await page.getByRole('textbox', { name: 'Task' }).fill('Fix it');
  await page.keyboard.press('Enter');
  expect((await start).postDataJSON()).toMatchObject({ selected_repository: 'octocat/hello', selected_branch: 'fix', git_provider: 'github' });
  await expect(page.getByRole('region', { name: 'The start failed' }).getByRole('alert')).toBeVisible();
  expect(hub.asked.filter((path) => path.startsWith('/octocat/hello'))).not.toEqual([]);
  await hub.close();
});

test('without a Git host a name or an address is typed', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.signIn(page);
  await deft.setModel(page);
  const field = page.getByRole('textbox', { name: 'Name or address' });
  await expect(page.getByText('Repository', { exact: true })).toBeVisible();
  await expect(field).toBeHidden();
  await page.getByText('Repository', { exact: true }).click();
  await field.fill('http://127.0.0.1:1/octocat/hello');
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'address.png') });
  const start = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/v1/app-conversations'));
  await page.getByRole('textbox', { name: 'Task' }).fill('Fix it');
  await page.keyboard.press('Enter');
  expect((await start).postDataJSON()).toMatchObject({ selected_repository: 'http://127.0.0.1:1/octocat/hello', selected_branch: null, git_provider: null });
  await expect(page.getByRole('region', { name: 'The start failed' }).getByRole('alert')).toBeVisible();
});

test('a start that fails says where and why, with the log, and is tried again', async ({ deft, page }) => {
  await deft.script([finish('Ready.')]);
  await deft.serve();
  await deft.signIn(page);
  await deft.setModel(page);
  const task = { id: '0'.repeat(32), app_conversation_id: null };
  const failed = { ...task, status: 'ERROR', detail: 'the setup script has ended with 3', setup_log: 'npm: not <b>found</b>\n' };
  await page.route('**/api/v1/app-conversations', (route) => route.fulfill({ json: { ...task, status: 'RUNNING_SETUP_SCRIPT', detail: null } }), { times: 1 });
  await page.route('**/start-tasks?*', (route) => route.fulfill({ json: [failed] }), { times: 1 });
  await page.getByRole('textbox', { name: 'Task' }).fill('Prepare');
  await page.keyboard.press('Enter');
  const region = page.getByRole('region', { name: 'The start failed' });
  await expect(region.getByRole('alert')).toContainText('Running the setup script: the setup script has ended with 3');
  await expect(region.getByLabel('Log of the setup')).toHaveText('npm: not <b>found</b>');
  await expect(page.getByRole('textbox', { name: 'Task' })).toHaveValue('Prepare');
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'failed.png') });
  await region.getByRole('button', { name: 'Try again' }).click();
  await page.waitForURL(/\/conversations\//);
  await expect(log(page).getByText('Ready.')).toBeVisible();
});
