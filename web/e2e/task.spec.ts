import { createServer } from 'node:http';
import { clean } from './axe';
import { expect, finish, log, panel, run, shot, task, test } from './deft';

test('the first run asks for one thing and goes on to the task box', async ({ deft, page }) => {
  await deft.script([finish('It **works**.')]);
  await deft.serve();
  await deft.signIn(page);
  await expect(page).toHaveURL(`${deft.url}/`); // the code does not stay in the address
  const field = page.getByLabel(/API key, or the address/);
  await expect(field).toBeFocused();
  await field.fill(deft.model);
  await page.getByLabel('Model', { exact: true }).fill('openai/scripted');
  await page.keyboard.press('Enter');
  const box = page.getByRole('textbox', { name: 'Task' });
  await expect(box).toBeFocused();
  await box.fill('try it');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('It works.')).toBeVisible();
  await expect(page.getByRole('status').filter({ hasText: 'Finished' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'A short title' })).toBeVisible();
});

test('a server with a model of its own asks for nothing', async ({ deft, page }) => {
  await deft.script([finish('Hello.')]);
  await deft.serve('127.0.0.1:0', { LLM_MODEL: 'openai/scripted', LLM_BASE_URL: deft.model, LLM_API_KEY: 'sk-of-the-server' });
  await deft.signIn(page);
  const box = page.getByRole('textbox', { name: 'Task' });
  await expect(box).toBeFocused();
  await expect(page.getByText('openai/scripted')).toBeVisible();
  await box.fill('hello');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Hello.')).toBeVisible();
  await page.goto(`${deft.url}/settings/models`);
  await page.getByRole('button', { name: /^Test/ }).click();
  await expect(page.getByRole('main').getByRole('status')).toHaveText('works');
});

test('a task works in the sandbox of an earlier one, with its files', async ({ deft, page }) => {
  // Its title comes when the choice is on the screen already.
  const late = { match: { system: 'You name conversations' }, latency: '2s', reply: { text: 'A late title' } };
  await task(deft, page, [late, { reply: { tool_calls: [run('cat note.txt || echo kept > note.txt')] } }, finish('Ready.')], 'Write a note');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await page.getByRole('link', { name: 'New task' }).click();
  await page.getByLabel('Sandbox').selectOption({ label: 'with A late title' });
  await expect(page.getByText('Repository')).toBeHidden(); // it has its files
  await page.getByRole('textbox', { name: 'Task' }).fill('Read the note');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Read the note')).toBeVisible();
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await log(page).getByRole('button', { name: /Run cat note.txt/ }).click();
  await expect(log(page).getByText('kept', { exact: true })).toBeVisible();
});

test('a task runs to its end, with its command, its output and its changes', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { reply: { reasoning: 'I need a file.', text: 'I write the greeting.', tool_calls: [run('echo hello | tee hello.txt')] } },
      { reply: { tool_calls: [run('false')] } },
      finish('Done: `hello.txt` is written.'),
    ],
    'Write a greeting',
  );
  await expect(log(page).getByText('Done: hello.txt is written.')).toBeVisible();
  await expect(log(page).getByText('Write a greeting')).toBeVisible();
  const line = log(page).getByRole('button', { name: /Run echo hello/ });
  await line.click();
  await expect(line).toHaveAttribute('aria-expanded', 'true');
  await expect(log(page).getByRole('group', { name: 'Output' })).toHaveText('hello');
  await expect(log(page).getByRole('button', { name: /Run false/ })).toContainText('exit 1');

  await panel(page, 'Changes').click();
  const change = page.getByRole('button', { name: /added hello.txt/ });
  await change.click();
  await expect(page.getByRole('group', { name: /Changes of .*hello.txt/ })).toContainText('+hello');
  await page.reload();
  await expect(page.getByRole('button', { name: /added hello.txt/ })).toBeVisible();
});

test('an answer is shown while the model writes it', async ({ deft, page }) => {
  const words = Array.from({ length: 400 }, (_, i) => `word${i}`).join(' ');
  await task(deft, page, [{ reply: { text: words }, chunk_size: 4, chunk_delay: '10ms' }], 'Write much');
  await expect(log(page).locator('.draft')).toContainText(/word\d+ word\d+/);
  await expect(log(page).locator('.message.agent')).toContainText('word399');
  await expect(log(page).locator('.draft')).toHaveCount(0);
});

test('while the user types, what moves stands still, and the answer grows on', async ({ deft, page }) => {
  const words = Array.from({ length: 2000 }, (_, i) => `word${i}`).join(' ');
  await task(deft, page, [{ reply: { text: words }, chunk_size: 8, chunk_delay: '40ms' }], 'Write much');
  const draft = log(page).locator('.draft');
  await expect(draft).toContainText('word1 ');
  const dot = page.locator('.bar .dot');
  const box = page.getByRole('textbox', { name: 'Message' });
  const moves = () => dot.evaluate((one) => one.getAnimations().some((a) => a.playState === 'running'));
  await expect.poll(moves).toBe(true);
  const before = (await draft.textContent())?.length ?? 0;
  let typed = '';
  // Keys without a pause: the answer must be drawn between them.
  await expect(async () => {
    await box.press('x');
    typed += 'x';
    expect(await moves()).toBe(false);
    expect((await draft.textContent())?.length ?? 0).toBeGreaterThan(before);
  }).toPass({ intervals: [10] });
  await expect(box).toHaveValue(typed);
  await expect.poll(moves).toBe(true);
  await expect(draft).toBeVisible();
});

test('a failing model is shown with what to do, and a retry goes on', async ({ deft, page }) => {
  await task(deft, page, [{ fault: { kind: 'auth', times: 1 }, reply: { text: 'Now it works.' } }], 'hello');
  await expect(log(page).getByRole('alert')).toContainText('refused the API key');
  await expect(page.getByRole('link', { name: 'Open the settings' })).toBeVisible();
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(log(page).getByText('Now it works.')).toBeVisible();
});

test('a model on this machine is found, and one click uses it', async ({ deft, page }) => {
  const ollama = createServer((request, response) => response.writeHead(request.url === '/api/tags' ? 200 : 404).end('{"models":[{"name":"qwen3:8b"}]}'));
  const free = await new Promise<boolean>((done) => ollama.once('error', () => done(false)).listen(11434, '127.0.0.1', () => done(true)));
  test.skip(!free && process.env.CI !== 'true', 'port 11434 is taken');
  expect(free, 'port 11434 is free').toBe(true);
  await deft.serve();
  await deft.signIn(page);
  const found = page.getByRole('region', { name: 'Models on this machine' }).getByRole('button', { name: /qwen3:8b/ });
  await expect(found).toContainText('Ollama');
  await clean(page, 'a local model');
  await shot(page, 'local-model');
  await found.click();
  await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
  const { agent_settings: agent } = await (await page.request.get(`${deft.url}/api/v1/settings`)).json();
  expect(agent.llm).toMatchObject({ model: 'ollama/qwen3:8b', base_url: 'http://127.0.0.1:11434' });
  await new Promise((done) => ollama.close(done));
});
