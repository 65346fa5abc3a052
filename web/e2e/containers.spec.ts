// Changes where the workspace is in a container, or in a runtime of a Runtime API, and what
// happens without that runtime. Needs an
// engine (DEFT_TEST_DOCKER) with an image that has git.
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { expect, finish, log, panel, run, status, test, type Deft } from './deft';
import type { Page } from '@playwright/test';

const host = process.env.DEFT_TEST_DOCKER ?? '';
const image = process.env.DEFT_TEST_GIT_IMAGE ?? ''; // made by test/web

// Only CI must have them.
const absent = (!host || !image) && process.env.CI !== 'true';

const sign = 'git -c user.name=a -c user.email=a@example.org';
const turns = [
  { reply: { tool_calls: [run(`git init -q 2>/dev/null; echo one > a.txt && echo one > b.txt && git add -A && ${sign} commit -qm first && echo two > a.txt && echo two > b.txt && echo new > c.txt`)] } },
  finish('Done.'),
];

// An engine may take minutes to remove a container while others use it.
test.setTimeout(400_000);

async function stage(deft: Deft, page: Page): Promise<void> {
  await deft.open(page, { git_user_name: 'Ada', git_user_email: 'ada@example.com' });
  await page.getByRole('textbox', { name: 'Task' }).fill('Write');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(status(page, 'Finished')).toBeVisible();
  await panel(page, 'Changes').click();
  await expect(page.getByText('3 files changed')).toBeVisible();
  await page.getByRole('checkbox', { name: 'Stage a.txt' }).click();
  await expect(page.getByRole('button', { name: 'Commit 1 staged' })).toBeEnabled(); // until then Enter commits nothing
  await page.getByLabel('Message of the commit').fill('Change a');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('checkbox', { name: 'Stage a.txt' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Discard b.txt' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByRole('checkbox', { name: 'Stage b.txt' })).toHaveCount(0);
  await page.getByRole('button', { name: /(added|changed) c.txt/ }).click();
  await expect(page.getByRole('group', { name: /Changes of .*c.txt/ }).last()).toContainText('new');
  await panel(page, 'Terminal').click();
  await page.locator('.xterm-helper-textarea').focus();
  await page.keyboard.type('git log -1 --format="%an: %s"; cat b.txt\n');
  await expect(page.locator('.xterm-accessibility')).toContainText('Ada: Change a');
  await panel(page, 'Agent').click();
  await page.locator('.panel').getByText(/^Sandbox/).click();
}

test('changes are staged, committed and discarded in a container', async ({ deft, page }) => {
  test.skip(absent, 'no engine (DEFT_TEST_DOCKER) and no image (DEFT_TEST_GIT_IMAGE)');
  await deft.script(turns);
  await deft.serve('127.0.0.1:0', { DOCKER_HOST: host, DEFT_SANDBOX_CLASS: 'docker', DEFT_SANDBOX_IMAGE: image, DEFT_SANDBOX_PULL: 'never' });
  await stage(deft, page);
  await expect(page.locator('.panel .isolation')).toContainText('A container.');
  await page.goto(`${deft.url}/settings/sandbox`);
  await expect(page.getByRole('region', { name: 'Isolation of new conversations' })).toContainText('A container.', { timeout: 120_000 });
  await remove(deft, page);
});

// remove deletes the conversation, and with it the container.
async function remove(deft: Deft, page: Page): Promise<void> {
  const [info] = (await (await page.request.get(`${deft.url}/api/v1/app-conversations/search`)).json()).items;
  const deleted = await page.request.delete(`${deft.url}/api/v1/app-conversations/${info.id}`, { headers: { Origin: deft.url }, timeout: 120_000 });
  expect(deleted.ok(), await deleted.text()).toBe(true);
}

test('changes are staged, committed and discarded in a runtime of a Runtime API', async ({ deft, page }) => {
  test.skip(absent, 'no engine (DEFT_TEST_DOCKER) and no image (DEFT_TEST_GIT_IMAGE)');
  const api = spawn(process.env.DEFT_BIN ?? '', ['runtime-api', '--port', '0', '--sandbox', 'docker'], {
    env: { PATH: process.env.PATH, HOME: deft.dir, DEFT_DATA: join(deft.dir, 'api'), DOCKER_HOST: host, DEFT_RUNTIME_API_KEYS: 'key-of-the-test' },
  });
  try {
    const at = await address(api);
    await deft.script(turns);
    await deft.serve('127.0.0.1:0', {
      DEFT_SANDBOX_CLASS: 'remote',
      DEFT_RUNTIME_API: at,
      DEFT_RUNTIME_API_KEY: 'key-of-the-test',
      DEFT_SANDBOX_IMAGE: image,
      DEFT_SANDBOX_PULL: 'never',
    });
    await stage(deft, page);
    await expect(page.locator('.panel .isolation')).toContainText('A runtime of a Runtime API');
    await page.goto(`${deft.url}/settings/sandbox`);
    await expect(page.getByRole('region', { name: 'Isolation of new conversations' })).toContainText('the Runtime API decides');
    await remove(deft, page);
    const runtimes = async () => (await (await fetch(`${at}/list`, { headers: { 'X-API-Key': 'key-of-the-test' } })).json()).runtimes.filter((r: { status: string }) => r.status !== 'stopped').length;
    await expect.poll(runtimes, { timeout: 120_000 }).toBe(0);
  } finally {
    const gone = new Promise((done) => api.once('exit', done));
    api.kill('SIGTERM');
    await gone;
  }
});

test('a conversation whose runtime has vanished is shown as lost, and goes on in a new one', async ({ deft, page }) => {
  test.skip(absent, 'no engine (DEFT_TEST_DOCKER) and no image (DEFT_TEST_GIT_IMAGE)');
  const api = spawn(process.env.DEFT_BIN ?? '', ['runtime-api', '--port', '0', '--sandbox', 'docker'], {
    env: { PATH: process.env.PATH, HOME: deft.dir, DEFT_DATA: join(deft.dir, 'api'), DOCKER_HOST: host, DEFT_RUNTIME_API_KEYS: 'key-of-the-test' },
  });
  try {
    const at = await address(api);
    await deft.script([{ reply: { tool_calls: [run('echo kept > kept.txt')] } }, finish('Written.'), { reply: { tool_calls: [run('cat kept.txt || echo new > new.txt')] } }, finish('Looked.')]);
    await deft.serve('127.0.0.1:0', { DEFT_SANDBOX_CLASS: 'remote', DEFT_RUNTIME_API: at, DEFT_RUNTIME_API_KEY: 'key-of-the-test', DEFT_SANDBOX_IMAGE: image, DEFT_SANDBOX_PULL: 'never' });
    await deft.open(page);
    await page.getByRole('textbox', { name: 'Task' }).fill('Write');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(status(page, 'Finished')).toBeVisible();
    const headers = { 'X-API-Key': 'key-of-the-test', 'Content-Type': 'application/json' };
    for (const { runtime_id } of (await (await fetch(`${at}/list`, { headers })).json()).runtimes) {
      await fetch(`${at}/stop`, { method: 'POST', headers, body: JSON.stringify({ runtime_id }) });
    }
    const notice = page.getByRole('region', { name: 'The sandbox' });
    await expect(notice).toContainText('The sandbox is lost.'); // an event tells the page when the engine has removed the container
    await expect(status(page, 'Sandbox lost')).toBeVisible();
    await expect(page.locator('.conversation-link')).toContainText('Sandbox lost');
    await expect(log(page).getByText('Written.')).toBeVisible();
    await notice.getByRole('button', { name: 'Resume' }).click();
    await expect(notice).toBeHidden();
    await page.getByRole('textbox', { name: 'Message' }).fill('Look');
    await page.keyboard.press('Enter');
    await expect(log(page).getByText('Looked.')).toBeVisible();
    await panel(page, 'Files').click();
    await expect(page.getByRole('button', { name: /^new.txt/ })).toBeVisible();
    await expect(page.getByRole('button', { name: /^kept.txt/ })).toHaveCount(0);
    await remove(deft, page);
  } finally {
    const gone = new Promise((done) => api.once('exit', done));
    api.kill('SIGTERM');
    await gone;
  }
});

// address waits for where a Runtime API listens.
function address(api: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    let said = '';
    for (const stream of [api.stdout, api.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        const found = /http:\/\/[\w.:]+/.exec(said)?.[0];
        if (found) done(found);
      });
    }
    api.once('exit', () => fail(new Error(`the Runtime API has ended: ${said}`)));
  });
}
