// Routes of the App Server that OpenHands' contract has not, or that were wrong once.
import { spawnSync } from 'node:child_process';
import { expect, finish, log, run, task, test } from './deft';

test.use({ alone: true });

test('a fork by the contract of the sandbox is in that sandbox', async ({ deft, page }) => {
  await task(deft, page, [finish('Ready.')], 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  const headers = { Origin: deft.url };
  const list = async () =>
    (await (await page.request.get(`${deft.url}/api/v1/app-conversations/search`)).json()).items as { id: string; sandbox_id: string; sandbox_status: string; session_api_key: string }[];
  const [source] = await list();
  const answer = await page.request.post(`${deft.url}/api/conversations/${source?.id}/fork`, {
    headers: { ...headers, 'X-Session-API-Key': source?.session_api_key ?? '' },
    data: {},
  });
  expect(answer.status(), await answer.text()).toBe(201);
  const all = await list();
  expect(all.map((c) => [c.sandbox_id, c.sandbox_status])).toEqual([
    [source?.sandbox_id, 'RUNNING'],
    [source?.sandbox_id, 'RUNNING'],
  ]);
});

test('a test of an MCP server runs no program beside the server', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('true')] } }, finish('Ready.')], 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  const [source] = (await (await page.request.get(`${deft.url}/api/v1/app-conversations/search`)).json()).items;
  const answer = await page.request.post(`${deft.url}/api/mcp/test`, {
    headers: { Origin: deft.url, 'X-Session-API-Key': source.session_api_key },
    data: { name: 'x', server: { type: 'stdio', command: 'touch', args: [`${deft.dir}/planted`] } },
  });
  expect(await answer.json()).toMatchObject({ ok: false, error: expect.stringContaining('runs in sandboxes only') });
});

test('a deleted conversation is stopped, with what it runs', async ({ deft, page }) => {
  const mark = `6${Date.now()}`; // of a sleep that is nobody else's
  const running = () => spawnSync('pgrep', ['-f', `^sleep ${mark}`]).status === 0;
  await task(deft, page, [{ reply: { tool_calls: [run(`sleep ${mark}`)] } }, finish('Never.')], 'Wait');
  await expect.poll(running).toBe(true);
  const [made] = (await (await page.request.get(`${deft.url}/api/v1/app-conversations/search`)).json()).items;
  const answer = await page.request.delete(`${deft.url}/api/v1/app-conversations/${made.id}`, { headers: { Origin: deft.url } });
  expect(answer.ok(), await answer.text()).toBe(true);
  await expect.poll(running).toBe(false);
});

test('a renamed conversation goes on after a restart of the server', async ({ deft, page }) => {
  await task(deft, page, [finish('Ready.'), finish('Again.')], 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  const [made] = (await (await page.request.get(`${deft.url}/api/v1/app-conversations/search`)).json()).items;
  const answer = await page.request.patch(`${deft.url}/api/v1/app-conversations/${made.id}`, { headers: { Origin: deft.url }, data: { title: 'Another name', tags: { team: 'web' } } });
  expect(answer.ok(), await answer.text()).toBe(true);
  await deft.restart();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Another name' })).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('Go on');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Again.')).toBeVisible();
});
