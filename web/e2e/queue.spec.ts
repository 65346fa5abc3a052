// Messages that wait until the agent has ended: the server has them, and every tab shows them.
import type { Page } from '@playwright/test';
import { clean } from './axe';
import { expect, finish, log, looks, panel, run, status, task, test, type Turn } from './deft';

test.use({ alone: true });

const box = (page: Page) => page.getByRole('textbox', { name: 'Message' });
const queue = (page: Page) => page.getByRole('region', { name: 'Queued messages' });
const waiting = (page: Page) => queue(page).getByRole('listitem');

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='; // a PNG

// until is a command that runs until a file is there, which `let` stores.
const until = (file: string): Turn => ({ reply: { tool_calls: [run(`until [ -e ${file} ]; do sleep 0.1; done`)] } });

async function store(page: Page, name: string): Promise<void> {
  await panel(page, 'Files').click();
  await page.locator('.panel input[type=file]').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('x') });
}

async function enqueue(page: Page, text: string): Promise<void> {
  await box(page).fill(text);
  await page.getByRole('button', { name: 'Queue' }).click();
  await expect(box(page)).toHaveValue('');
}

test('messages wait until the agent has ended; two tabs see, edit and delete them; one message follows the other', async ({ deft, page, context }) => {
  await task(
    deft,
    page,
    [
      until('go'),
      finish('The first thing is done.'),
      { match: { user: 'do the second thing', assistant_turns: 2 }, ...finish('The second thing is done.') },
      { match: { user: 'and the third', assistant_turns: 3 }, ...finish('The third thing is done.') },
    ],
    'Wait for me',
  );
  await expect(log(page).getByRole('button', { name: /Run until/ })).toBeVisible();
  for (const text of ['do the secnd thing', 'never mind', 'and the third']) await enqueue(page, text);
  await expect(waiting(page)).toHaveText(['do the secnd thing', 'never mind', 'and the third']);
  await expect(box(page)).toBeFocused();
  await clean(page, 'queued messages');
  await looks(page, 'queue');
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(waiting(other)).toHaveText(['do the secnd thing', 'never mind', 'and the third']);
  await queue(other).getByRole('button', { name: 'Remove “never mind”' }).click();
  await expect(waiting(page)).toHaveText(['do the secnd thing', 'and the third']);
  await queue(page).getByRole('button', { name: 'Edit “do the secnd thing”' }).click();
  const edited = queue(page).getByRole('textbox', { name: 'Queued message' });
  await expect(edited).toHaveValue('do the secnd thing');
  await edited.fill('do the second thing');
  await clean(page, 'a queued message that is edited');
  await looks(page, 'queue-edit');
  await queue(page).getByRole('button', { name: 'Save' }).click();
  for (const tab of [page, other]) await expect(waiting(tab)).toHaveText(['do the second thing', 'and the third']);
  await expect(log(page).getByText('second thing')).toHaveCount(0);

  await store(page, 'go');
  for (const tab of [page, other]) {
    for (const text of ['The first thing is done.', 'do the second thing', 'The second thing is done.', 'and the third', 'The third thing is done.'])
      await expect(log(tab).getByText(text)).toHaveCount(1);
    await expect(queue(tab)).toBeHidden();
    await expect(log(tab).locator('.message.user')).toHaveText([/Wait for me$/, /do the second thing$/, /and the third$/]);
  }
});

test('a queue outlives the server and a stop of the agent; one of its messages is sent at once', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [until('never'), { match: { user: 'this one first' }, ...finish('That came first.') }, { match: { user: 'then this' }, ...finish('That came second.') }],
    'Wait for me',
  );
  await expect(log(page).getByRole('button', { name: /Run until/ })).toBeVisible();
  for (const text of ['then this', 'this one first']) await enqueue(page, text);
  await expect(waiting(page)).toHaveCount(2);
  await deft.restart('SIGKILL', async () => {
    await expect(page.getByText('The connection is lost.')).toBeVisible();
  });
  await expect(page.getByText('The connection is lost.')).toBeHidden();
  await page.reload();
  await expect(waiting(page)).toHaveText(['then this', 'this one first']);
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(status(page, 'Paused')).toBeVisible();
  await expect(queue(page)).toContainText('They wait until the agent has gone on and ended');
  await expect(waiting(page)).toHaveCount(2);
  await looks(page, 'queue-paused');
  await queue(page).getByRole('button', { name: 'Send “this one first” now' }).click();
  await expect(log(page).getByText('That came second.')).toBeVisible();
  await expect(queue(page)).toBeHidden();
  await expect(log(page).locator('.message.user')).toHaveText([/Wait for me$/, /this one first$/, /then this$/]);
});

test('a message that is sent while it is edited is not lost, and the page says what happened', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [until('go'), finish('The first thing is done.'), { match: { user: 'as it was' }, ...finish('I have read the old text.') }],
    'Wait for me',
  );
  await expect(log(page).getByRole('button', { name: /Run until/ })).toBeVisible();
  await enqueue(page, 'as it was');
  await store(page, 'file'); // opens the panel, which takes the focus
  await queue(page).getByRole('button', { name: 'Edit “as it was”' }).click();
  await queue(page).getByRole('textbox', { name: 'Queued message' }).fill('as it should be');
  await page.locator('.panel input[type=file]').setInputFiles({ name: 'go', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await expect(log(page).getByText('I have read the old text.')).toBeVisible();
  await expect(page.getByText('The message was sent or removed while you changed it.')).toBeVisible();
  await expect(box(page)).toHaveValue('as it should be');
  await looks(page, 'queue-sent-while-edited');
});

test('a queue waits while the model fails, and follows once the agent has gone on and ended', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [until('go'), { fault: { kind: 'auth', times: 1 }, ...finish('It is mended.') }, { match: { user: 'later' }, ...finish('That came later.') }],
    'Wait for me',
  );
  await expect(log(page).getByRole('button', { name: /Run until/ })).toBeVisible();
  await enqueue(page, 'later');
  await store(page, 'go');
  const again = log(page).getByRole('button', { name: 'Try again' });
  await expect(again).toBeVisible();
  await expect(queue(page)).toContainText('They wait until the agent has gone on and ended');
  await expect(waiting(page)).toHaveText(['later']);
  await again.click();
  await expect(log(page).getByText('That came later.')).toBeVisible();
  await expect(queue(page)).toBeHidden();
});

test('drafts outlive navigation and reloads in every place, and are gone once they are sent', async ({ deft, page, context }) => {
  await deft.script([finish('First answer.'), finish('Second answer.')]);
  await deft.serve();
  await deft.open(page);
  const start = page.getByRole('textbox', { name: 'Task' });
  const inside = (tab: Page) => tab.locator('.composer').evaluate((box) => box.getBoundingClientRect().right <= window.innerWidth);
  await start.fill('z'.repeat(3000));
  expect(await inside(page)).toBe(true);
  await start.fill('A task for later');
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'New task' }).click();
  await expect(start).toHaveValue('A task for later');
  await page.reload();
  await expect(start).toHaveValue('A task for later');
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(log(page).getByText('First answer.')).toBeVisible();

  await box(page).fill('z'.repeat(3000));
  expect(await inside(page)).toBe(true);
  await box(page).fill('Not sent\nyet');
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(box(other)).toHaveValue('Not sent\nyet');
  await page.getByRole('link', { name: 'New task' }).click();
  await expect(start).toHaveValue('');
  await start.fill('Another task');
  await page.goBack();
  await expect(box(page)).toHaveValue('Not sent\nyet');
  await page.reload();
  await expect(box(page)).toHaveValue('Not sent\nyet');
  await deft.restart();
  await expect(page.getByText('The connection is lost.')).toBeHidden();
  const picture = (tab: Page) => tab.locator('.composer').getByRole('img', { name: 'Attached image 1' });
  await page.locator('.composer input[type=file]').setInputFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') },
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('my notes') },
  ]);
  for (const tab of [page, other]) await expect(picture(tab)).toBeVisible();
  await page.reload();
  await expect(picture(page)).toBeVisible();
  await looks(page, 'draft');
  await box(page).press('Control+Enter');
  await expect(log(page).getByText('Second answer.')).toBeVisible();
  await expect(log(page).getByText('Attached files: uploads/notes.txt')).toBeVisible();
  for (const tab of [page, other]) {
    await expect(box(tab)).toHaveValue('');
    await expect(picture(tab)).toHaveCount(0);
    await expect(tab.locator('.composer-files')).toHaveCount(0);
  }
  await page.reload();
  await expect(log(page).getByText('Second answer.')).toBeVisible();
  await expect(box(page)).toHaveValue('');
  await page.getByRole('link', { name: 'New task' }).click();
  await expect(start).toHaveValue('Another task');
});

test('a file that is sent before the connection stands goes into the workspace', async ({ deft, page }) => {
  await task(deft, page, [finish('First answer.'), { match: { user: 'Read it' }, ...finish('I have read it.') }], 'Begin');
  await expect(log(page).getByText('First answer.')).toBeVisible();
  let open = false;
  const held: (() => void)[] = []; // frames of the server
  await page.routeWebSocket(/\/sockets\/events\//, (socket) => {
    socket.connectToServer().onMessage((message) => (open ? socket.send(message) : held.push(() => socket.send(message))));
  });
  await page.reload();
  await expect(log(page).getByText('First answer.')).toBeVisible();
  await page.locator('.composer input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('my notes') });
  await box(page).fill('Read it');
  await box(page).press('Control+Enter');
  await expect(page.getByRole('button', { name: 'Send' })).toBeDisabled();
  open = true;
  for (const send of held) send();
  await expect(log(page).getByText('I have read it.')).toBeVisible();
  await expect(log(page).getByText('Attached files: uploads/notes.txt')).toBeVisible();
});
