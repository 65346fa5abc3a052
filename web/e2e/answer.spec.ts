// The answer of the model, while it is written.
import type { Page } from '@playwright/test';
import { clean } from './axe';
import { expect, finish, log, looks, run, send, shot, status, test, type Deft } from './deft';
import { startGate, type Gate } from './gate';

const lines = Array.from({ length: 60 }, (_, i) => `Line ${i + 1} of the answer, with **some** words.`);
const answer = ['The beginning of it.', ...lines, 'The end of it.'].join('\n\n');

// begin has the model write the beginning of the answer, to its third line.
async function begin(deft: Deft, page: Page): Promise<Gate> {
  await deft.script([{ reply: { text: answer }, chunk_size: 100 }]); // 29 pieces of two lines
  const gate = await startGate(deft.model, 'The beginning of it.');
  deft.model = gate.url;
  await deft.serve();
  await deft.open(page);
  await send(page, 'Write much');
  gate.pass(4);
  await expect(log(page).getByText('Line 3 of')).toBeVisible();
  return gate;
}

const list = (page: Page) => page.locator('.timeline-list');

test('an answer is whole in another tab and after a reload, and the reader keeps the place and the selection when it ends', async ({ deft, page, context }) => {
  const gate = await begin(deft, page);
  const other = await context.newPage();
  await other.goto(page.url());
  await page.reload();
  gate.pass(10);
  for (const tab of [page, other]) {
    await expect(log(tab).getByText('Line 12 of')).toBeVisible();
    await expect(status(tab, 'Working')).toBeVisible();
    await expect(log(tab).getByText('The beginning of it.')).toHaveCount(1);
    await expect(log(tab).getByText('Line 2 of')).toHaveCount(1);
  }
  await shot(page, 'answer-reloaded');

  // The user reads the beginning, and selects something.
  gate.pass(20);
  await expect.poll(() => list(page).evaluate((box) => box.scrollHeight - box.clientHeight)).toBeGreaterThan(200);
  await list(page).hover();
  await page.mouse.wheel(0, -10_000);
  const first = log(page).getByText('Line 2 of');
  await first.evaluate((p) => window.getSelection()?.selectAllChildren(p));
  const place = await list(page).evaluate((box) => box.scrollTop);
  gate.open();
  await expect(status(page, 'Finished')).toBeVisible();
  await expect(log(page).locator('.draft')).toHaveCount(0);
  expect(await page.evaluate(() => window.getSelection()?.toString())).toBe('Line 2 of the answer, with some words.');
  expect(await list(page).evaluate((box) => box.scrollTop)).toBe(place);
  for (const tab of [page, other]) await expect(log(tab).getByText('The beginning of it.')).toHaveCount(1);
  await shot(page, 'answer-ended');
  await page.reload();
  await expect(log(page).getByText('The end of it.')).toBeVisible();
  await expect(log(page).locator('.message.agent')).toHaveCount(1);
  gate.close();
});

test('an answer goes on where it was when the connection was lost meanwhile', async ({ deft, page, context }) => {
  const gate = await begin(deft, page);
  await context.setOffline(true);
  await page.evaluate(() => window.dispatchEvent(new Event('offline')));
  gate.pass(10);
  await context.setOffline(false);
  gate.open();
  await expect(log(page).getByText('The end of it.')).toBeVisible();
  await expect(log(page).getByText('The beginning of it.')).toHaveCount(1);
  gate.close();
});

test('an answer that comes to a tab all at once is drawn', async ({ deft, page, context }) => {
  const gate = await begin(deft, page);
  const other = await context.newPage();
  let connects = () => {};
  const connected = new Promise<void>((done) => (connects = done));
  await other.routeWebSocket(/\/sockets\/events\//, (socket) => {
    let first = true; // it has the state
    socket.connectToServer().onMessage(async (message) => {
      if (String(message).includes('"type":"answer"')) return; // as to a tab that comes after them
      if (!first) await connected;
      first = false;
      socket.send(message);
    });
  });
  await other.goto(page.url());
  await expect(log(other).getByText('Thinking')).toBeVisible();
  const emptied = await list(other).evaluateHandle((box) => {
    const seen = { times: 0 };
    const rows = box.firstElementChild as Element;
    new MutationObserver(() => (seen.times += rows.childElementCount === 0 ? 1 : 0)).observe(rows, { childList: true });
    return seen;
  });
  gate.open();
  await expect(status(page, 'Finished')).toBeVisible();
  connects();
  await expect(log(other).getByText('The end of it.')).toBeInViewport();
  expect(await emptied.jsonValue()).toEqual({ times: 0 });
  await log(other).getByText('The end of it.').hover();
  await other.mouse.wheel(0, -10_000);
  await expect(log(other).getByText('Write much')).toBeInViewport();
  gate.close();
});

test('a call is shown while the model writes it: its name, its size and its text as it comes, in every tab', async ({ deft, page, context }) => {
  const text = Array.from({ length: 2000 }, (_, i) => `line ${i} of the file`).join('\n');
  await deft.script([
    { reply: { text: 'I write it.', tool_calls: [{ name: 'file_editor', raw_arguments: JSON.stringify({ command: 'create', path: '/tmp/long.txt', file_text: text }) }] } },
    { reply: { tool_calls: [run('wc -l /tmp/long.txt')] } },
    finish('It is written.'),
  ]);
  const gate = await startGate(deft.model, 'file_editor');
  try {
    deft.model = gate.url;
    await deft.serve();
    await deft.open(page);
    await send(page, 'Write a long file');
    await expect(status(page, 'Working')).toBeVisible();

    gate.pass(50); // of 24 characters each
    const row = (tab: Page) => log(tab).getByRole('button', { name: /being written/ });
    const soFar = (tab: Page) => log(tab).getByRole('group', { name: 'Text so far' });
    await expect(row(page)).toContainText('long.txt');
    await expect(soFar(page)).toContainText('line 19 of the file');
    await expect(soFar(page)).not.toContainText('line 100 ');
    await expect(log(page).getByText('Thinking')).toHaveCount(0);
    const size = await row(page).textContent();
    await clean(page, 'a call that is being written');
    await looks(page, 'writing');

    gate.pass(1000);
    await expect(soFar(page)).toContainText('line 899 of the file');
    expect(await row(page).textContent()).not.toBe(size);
    const other = await context.newPage();
    await other.goto(page.url());
    await page.reload();
    for (const tab of [page, other]) {
      await expect(row(tab)).toContainText('long.txt');
      await expect(soFar(tab)).toContainText('line 899 of the file');
    }
    gate.open();
    await expect(log(page).getByText('It is written.')).toBeVisible();
    for (const tab of [page, other]) await expect(row(tab)).toHaveCount(0);
    await log(page).getByRole('button', { name: /Run wc/ }).click();
    await expect(log(page).getByRole('group', { name: 'Output' })).toHaveText('1999 /tmp/long.txt');
  } finally {
    gate.close();
  }
});

for (const [kind, end] of [
  ['a paragraph', 'Words.'],
  ['a list', '- a\n- b'],
  ['code', '```py\nx = 1\n```'],
  ['a table', '| a |\n|---|\n| b |'],
] as const) {
  test(`a message that ends with ${kind} is as high after a reload as when it came`, async ({ deft, page }) => {
    await deft.script([{ reply: { text: `The beginning of it.\n\nMore.\n\n${end}` }, chunk_size: 10 }]);
    const gate = await startGate(deft.model, 'The beginn');
    deft.model = gate.url;
    await deft.serve();
    await deft.open(page);
    await send(page, 'Write');
    gate.pass(4);
    await expect(log(page).locator('.draft')).toContainText('The beginning');
    gate.open();
    await expect(status(page, 'Finished')).toBeVisible();
    await expect(log(page).locator('.draft')).toHaveCount(0);
    const height = () => log(page).locator('.message.agent .markdown').evaluate((text) => text.closest('.timeline-row')!.getBoundingClientRect().height);
    const before = await height();
    await page.reload();
    await expect(log(page).getByText('More.')).toBeVisible();
    expect(await height()).toBe(before);
    gate.close();
  });
}
