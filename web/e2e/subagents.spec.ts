// Sub-agents: their work is a thread in the conversation.
import type { Page } from '@playwright/test';
import { clean } from './axe';
import { confirming, expect, finish, log, risky, shot, status, task, test, type Turn } from './deft';

const delegate = (description: string, prompt: string) => ({ name: 'task', arguments: { description, prompt, subagent_type: 'general-purpose', security_risk: 'LOW' } });
const safe = (command: string) => ({ name: 'terminal', arguments: { command, security_risk: 'LOW' } });

// turn answers for the agent whose newest message of a user has a text.
const turn = (user: string, n: number, tool_calls: { name: string; arguments: Record<string, unknown> }[], text = ''): Turn => ({ match: { user, assistant_turns: n }, reply: { text, tool_calls } });
const done = (user: string, n: number, message: string): Turn => ({ match: { user, assistant_turns: n }, ...finish(message) });

const line = (page: Page, description: string) => log(page).getByRole('button', { name: new RegExp(`^Sub-agent.* ${description}`) });
const thread = (page: Page, description: string) => page.getByRole('region', { name: `Thread of the sub-agent: ${description}` });
const asks = (page: Page, description: string) => thread(page, description).getByRole('region', { name: 'Confirmation' });

// sockets are the conversations whose events come to the page.
function sockets(page: Page): () => string[] {
  const open = new Map<object, string>();
  page.on('websocket', (socket) => {
    const id = /\/sockets\/events\/([\w-]+)/.exec(socket.url())?.[1];
    if (!id) return;
    open.set(socket, id);
    socket.on('close', () => open.delete(socket));
  });
  return () => [...open.values()];
}

test('a sub-agent works in a thread, asks in it, and leaves its answer', async ({ deft, page }) => {
  const open = sockets(page);
  await task(
    deft,
    page,
    [
      turn('Have it counted', 0, [delegate('Count the files', 'Count them all')], 'I leave that to another one.'),
      turn('Count them all', 0, [safe('until [ -e go ]; do echo counting; sleep 0.2; done')], 'I count.'),
      turn('Count them all', 1, [risky('touch counted')]),
      done('Count them all', 2, 'There are **3** files.'),
      done('Have it counted', 1, 'It says 3.'),
    ],
    'Have it counted',
    confirming,
  );
  const whole = page.url();
  const counting = thread(page, 'Count the files');
  await expect(line(page, 'Count the files')).toHaveAttribute('aria-expanded', 'true');
  await expect(line(page, 'Count the files')).toContainText('Working');
  await expect(counting.getByText('Count them all')).toBeVisible();
  await expect(counting.getByText('I count.')).toBeVisible();
  await expect.poll(() => open().length).toBe(2);

  // The output of its commands comes as it is printed.
  await counting.getByRole('button', { name: /^Run until/ }).click();
  await expect(counting.getByRole('group', { name: 'Output so far' })).toContainText('counting');
  await clean(page, 'a sub-agent at work');
  await shot(page, 'subagent-works');

  // A closed thread is not followed, and an open one is again.
  await line(page, 'Count the files').click();
  await expect(counting).toBeHidden();
  await expect.poll(() => open().length).toBe(1);
  await line(page, 'Count the files').press('Enter');
  await expect(counting.getByText('I count.')).toBeVisible();
  await expect.poll(() => open().length).toBe(2);
  await line(page, 'Count the files').press('Enter');
  await expect(counting).toBeHidden();

  // It opens when it has to be answered.
  const id = /conversations\/([^/?#]+)/.exec(whole)?.[1] ?? '';
  const [{ session_api_key: key }] = await (await page.request.get(`${deft.url}/api/v1/app-conversations?ids=${id}`)).json();
  const headers = { 'X-Session-API-Key': key, Origin: deft.url };
  const { workspace } = await (await page.request.get(`${deft.url}/api/conversations/${id}`, { headers })).json();
  const upload = await page.request.post(`${deft.url}/api/conversations/${id}/file/upload?path=${encodeURIComponent(`${workspace.working_dir}/go`)}`, { headers, multipart: { file: { name: 'go', mimeType: 'text/plain', buffer: Buffer.from('') } } });
  expect(upload.ok(), await upload.text()).toBe(true);
  await expect(asks(page, 'Count the files')).toContainText('touch counted');
  await expect(line(page, 'Count the files')).toContainText('Needs your answer');
  await expect(page.getByText('A sub-agent needs your answer.')).toBeVisible();
  await expect(status(page, 'Working')).toBeVisible();
  await expect(page.getByRole('navigation', { name: 'Conversations' }).getByRole('listitem').filter({ hasText: 'Have it counted' })).toContainText('Needs your answer');
  await clean(page, 'a sub-agent that asks');
  await shot(page, 'subagent-asks');
  await page.setViewportSize({ width: 390, height: 800 });
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await clean(page, 'a sub-agent that asks, on a phone');
  await shot(page, 'subagent-asks-phone');
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: 'light' });
  await asks(page, 'Count the files').getByRole('button', { name: 'Allow once' }).click();

  // Once it has ended its line has the answer, and the thread is closed with its socket.
  await expect(log(page).getByText('It says 3.')).toBeVisible();
  await expect(line(page, 'Count the files')).toHaveAttribute('aria-expanded', 'false');
  await expect(line(page, 'Count the files')).toContainText('Finished');
  await expect(log(page).getByText('There are 3 files.')).toBeVisible();
  await expect.poll(() => open().length).toBe(1);
  await clean(page, 'a task that was done');
  await shot(page, 'subagent-done');

  // Its messages are found in the conversation by the line, and a link leads there.
  await page.keyboard.press('Control+f');
  await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('files.');
  await expect(page.locator('.timeline-row.target')).toContainText('Count the files');
  await page.keyboard.press('Escape');

  // It has a page of its own, which leads back, and is no conversation of the list.
  await expect(line(page, 'Count the files')).toHaveAttribute('aria-expanded', 'true'); // by the search
  await expect(counting.getByText('There are 3 files.')).toBeVisible();
  await counting.getByRole('link', { name: /^Open as a page/ }).click();
  await expect(page).not.toHaveURL(whole);
  await expect(log(page).getByText('There are 3 files.')).toBeVisible();
  await expect.poll(() => open().length).toBe(1);
  await clean(page, 'the page of a sub-agent');
  await shot(page, 'subagent-page');
  await expect(page.getByRole('navigation', { name: 'Conversations' }).getByRole('listitem')).toHaveCount(1);
  await page.getByRole('link', { name: /^To the conversation that this is a part of/ }).click();
  await expect(page).toHaveURL(new RegExp(`/conversations/${id}\\?event=`));
  await expect(page.locator('.timeline-row.target')).toContainText('Count the files');
  await expect(page.getByRole('region', { name: 'Threads' })).toHaveCount(0);
});

test('of two sub-agents that ask, a key answers the one that has the focus; one goes on after a rejection with its reason', async ({ deft, page }) => {
  await deft.script(
    [
      turn('Have both done', 0, [delegate('Make one', 'Make one of them'), delegate('Make another', 'Make another of them')]),
      turn('Make one of them', 0, [risky('touch one')]),
      done('Make one of them', 1, 'One is made.'),
      turn('Make another of them', 0, [risky('touch another')]),
      done('Make another of them', 1, 'The other is not made.'),
      done('Have both done', 1, 'One of two.'),
    ],
  );
  await deft.serve();
  await deft.open(page, confirming);
  const parallel = await page.request.post(`${deft.url}/api/v1/settings`, { headers: { Origin: deft.url }, data: { agent_settings_diff: { tool_concurrency_limit: 2 } } });
  expect(parallel.ok(), await parallel.text()).toBe(true);
  await page.getByRole('textbox', { name: 'Task' }).fill('Have both done');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(asks(page, 'Make one')).toContainText('touch one');
  await expect(asks(page, 'Make another')).toContainText('touch another');
  await expect(page.getByText('2 sub-agents need your answer.')).toBeVisible();
  await log(page).locator('.timeline-list').first().focus();
  await page.keyboard.press('y'); // answers none of them
  await expect(async () => {
    // A key right after a question has appeared is not meant for it. An answer may take its time.
    if (await asks(page, 'Make one').isVisible()) await asks(page, 'Make one').getByRole('button', { name: 'Allow once' }).press('y', { timeout: 1000 });
    await expect(asks(page, 'Make one')).toBeHidden({ timeout: 1000 });
  }).toPass();
  await expect(asks(page, 'Make another')).toContainText('touch another');
  await shot(page, 'subagents');
  await asks(page, 'Make another').getByRole('textbox', { name: 'Reason for a rejection' }).fill('One is enough');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('One of two.')).toBeVisible();
  await expect(log(page).getByText('One is made.')).toBeVisible();
  await expect(log(page).getByText('The other is not made.')).toBeVisible();
  await line(page, 'Make another').click();
  await expect(thread(page, 'Make another').getByRole('button', { name: /touch another.*rejected/ })).toBeVisible();
});

test('a sub-agent is stopped with its conversation and goes on with it; one that was paused goes on from the thread; what it costs is said', async ({ deft, page }) => {
  const base_url = await deft.script([
    turn('Have it waited', 0, [delegate('Wait for it', 'Wait for all of it')]),
    turn('Wait for all of it', 0, [safe('sleep 1')], 'First.'),
    { ...turn('Wait for all of it', 1, [safe('sleep 2')], 'Second.'), latency: '3s' },
    done('Wait for all of it', 2, 'It is over.'),
    done('Have it waited', 1, 'I have waited.'),
  ]);
  await deft.serve();
  await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test', input_cost_per_token: 0.0001, output_cost_per_token: 0.0001 } } });
  await page.getByRole('textbox', { name: 'Task' }).fill('Have it waited');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  const waiting = thread(page, 'Wait for it');
  await expect(waiting.getByText('First.')).toBeVisible();
  await page.getByRole('button', { name: /^Stop/ }).click();
  await expect(status(page, 'Paused')).toBeVisible();
  await expect(line(page, 'Wait for it')).toContainText('Paused');
  await page.locator('.bar').getByRole('button', { name: 'Resume' }).click();
  await expect(line(page, 'Wait for it')).toContainText('Working');

  const part = (await waiting.getByRole('link', { name: /^Open as a page/ }).getAttribute('href'))?.split('/').pop() ?? '';
  const [{ session_api_key: key }] = await (await page.request.get(`${deft.url}/api/v1/app-conversations?ids=${part}`)).json();
  const pause = await page.request.post(`${deft.url}/api/conversations/${part}/interrupt`, { headers: { 'X-Session-API-Key': key, Origin: deft.url } });
  expect(pause.ok(), await pause.text()).toBe(true);
  await expect(line(page, 'Wait for it')).toContainText('Paused');
  await expect(status(page, 'Working')).toBeVisible();
  await clean(page, 'a sub-agent that is paused');
  await waiting.getByRole('button', { name: 'Resume' }).click();
  await expect(log(page).getByText('I have waited.')).toBeVisible();
  await expect(line(page, 'Wait for it')).toContainText(/Finished · \$\d/);
});

test('of a long thread the end is shown, and more of it on request', async ({ deft, page }) => {
  const first = Array.from({ length: 60 }, (_, i) => safe(`echo ${i + 1}`));
  await task(
    deft,
    page,
    [turn('Have it done', 0, [delegate('Do much', 'Do all of it')]), turn('Do all of it', 0, first), done('Do all of it', 1, 'Much is done.'), done('Have it done', 1, 'Ready.')],
    'Have it done',
  );
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await line(page, 'Do much').click();
  const much = thread(page, 'Do much');
  await expect(much.getByText('Much is done.')).toBeVisible();
  await expect(much.getByRole('button', { name: /^Run echo 60 / })).toBeVisible();
  await expect(much.getByRole('button', { name: /^Run echo 10 / })).toHaveCount(0);
  await clean(page, 'a long thread');
  await shot(page, 'subagent-long');
  await much.getByRole('button', { name: 'Show earlier' }).click();
  await expect(much.getByRole('button', { name: /^Run echo 1 / })).toHaveCount(1);
  await expect(much.getByText('Do all of it')).toHaveCount(1);
  await expect(much.getByRole('button', { name: 'Show earlier' })).toHaveCount(0);
});

test('where the sub-agent’s conversation is not shared, or gone, its task and its answer are shown', async ({ deft, page, browser }) => {
  await task(
    deft,
    page,
    [turn('Have it looked up', 0, [delegate('Look it up', 'Look up the answer')]), done('Look up the answer', 0, 'It is **42**.'), done('Have it looked up', 1, 'So it is.')],
    'Have it looked up',
  );
  await expect(log(page).getByText('So it is.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  const whole = /conversations\/([^/?#]+)/.exec(page.url())?.[1] ?? '';
  await line(page, 'Look it up').click();
  const link = await thread(page, 'Look it up').getByRole('link', { name: /^Open as a page/ }).getAttribute('href');
  const part = link?.split('/').pop() ?? '';

  const share = (id: string) => page.request.patch(`${deft.url}/api/v1/app-conversations/${id}`, { headers: { Origin: deft.url }, data: { public: true } });
  expect((await share(whole)).ok()).toBe(true);
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(`${deft.url}/shared/${whole}`);
  await line(stranger, 'Look it up').click();
  await expect(stranger.getByText('Only the task and its answer are shared.')).toBeVisible();
  await expect(log(stranger).getByText('Look up the answer')).toBeVisible();
  await expect(log(stranger).getByText('It is 42.')).toBeVisible();
  await clean(stranger, 'a shared task');
  expect((await share(part)).ok()).toBe(true);
  await stranger.reload();
  await line(stranger, 'Look it up').click();
  await expect(thread(stranger, 'Look it up').getByText('It is 42.')).toBeVisible();
  await thread(stranger, 'Look it up').getByRole('link', { name: /^Open as a page/ }).click();
  await expect(stranger).toHaveURL(new RegExp(`/shared/${part.slice(0, 8)}`));
  await expect(log(stranger).getByText('It is 42.')).toBeVisible();

  const gone = page.getByText('Only the task and its answer are here');
  expect((await page.request.delete(`${deft.url}/api/v1/app-conversations/${part}`, { headers: { Origin: deft.url } })).ok()).toBe(true);
  await page.reload();
  await line(page, 'Look it up').click();
  await expect(gone).toBeVisible();
  await expect(log(page).getByText('Look up the answer')).toBeVisible();
  await expect(log(page).getByText('It is 42.')).toBeVisible();
  await clean(page, 'a task whose conversation is gone');
  await shot(page, 'subagent-gone');

  // So it is in an import.
  const download = await page.request.get(`${deft.url}/api/v1/app-conversations/${whole}/download`);
  await page.goto(`${deft.url}/conversations`);
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByRole('dialog').getByLabel('Trajectory').setInputFiles({ name: 'recorded.zip', mimeType: 'application/zip', buffer: await download.body() });
  await page.getByRole('dialog').getByRole('button', { name: 'Read' }).click();
  await page.waitForURL((url) => /\/conversations\/.+/.test(url.pathname) && !url.pathname.includes(whole));
  await line(page, 'Look it up').click();
  await expect(gone).toBeVisible();
});

test.describe('a browser in German', () => {
  test.use({ locale: 'de-DE' });

  test('has the words for sub-agents', async ({ deft, page }) => {
    await deft.script([turn('Lass es tun', 0, [delegate('Tu es', 'Tu es gleich')]), turn('Tu es gleich', 0, [risky('touch es')]), done('Tu es gleich', 1, 'Getan.'), done('Lass es tun', 1, 'Fertig.')]);
    await deft.serve();
    await deft.open(page, confirming);
    await page.getByRole('textbox', { name: 'Aufgabe' }).fill('Lass es tun');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(page.getByRole('button', { name: /^Sub-Agent Tu es/ })).toContainText('Braucht Ihre Antwort');
    await expect(page.getByText('Ein Sub-Agent braucht Ihre Antwort.')).toBeVisible();
    await clean(page, 'a sub-agent, in German');
    await shot(page, 'subagent-de');
  });
});
