import { expect, finish, log, panel, run, status, task, test } from './deft';

test.use({ alone: true });

const texts = (page: import('@playwright/test').Page) => log(page).locator('.timeline-row').allInnerTexts();

test('a page that is loaded again shows the same conversation', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { text: 'First.', tool_calls: [run('echo one')] } }, { reply: { tool_calls: [run('echo two')] } }, finish('Last.')], 'Count');
  await expect(log(page).getByText('Last.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  const before = await texts(page);
  await page.reload();
  await expect(log(page).getByText('Last.')).toBeVisible();
  expect(await texts(page)).toEqual(before);
});

test('the server is killed during a command, and the page goes on by itself with nothing lost or doubled', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [{ reply: { text: 'I wait.', tool_calls: [run('echo begun > begun; until [ -e go ]; do sleep 0.1; done; echo over')] } }, finish('It is over.')],
    'Wait',
  );
  await expect(log(page).getByRole('button', { name: /Run echo begun/ })).toBeVisible();
  await panel(page, 'Files').click();
  await expect(page.getByRole('button', { name: /^begun/ })).toBeVisible();
  await deft.restart('SIGKILL', async () => {
    await expect(page.getByText('The connection is lost.')).toBeVisible();
  });
  await expect(page.getByText('The connection is lost.')).toBeHidden();
  await page.locator('.panel input[type=file]').setInputFiles({ name: 'go', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await expect(log(page).getByText('It is over.')).toBeVisible();
  await expect(log(page).getByText('I wait.')).toHaveCount(1);
  await expect(log(page).getByRole('button', { name: /Run echo begun/ })).toHaveCount(1);
  const live = await texts(page);
  await page.reload();
  await expect(log(page).getByText('It is over.')).toBeVisible();
  expect(await texts(page)).toEqual(live);
});

test('a message that could not be sent is kept, and what was wrong is gone once the server is back', async ({ deft, page }) => {
  await task(deft, page, [finish('First answer.'), finish('Second answer.')], 'First');
  await expect(status(page, 'Finished')).toBeVisible();
  await expect(log(page).getByText('First answer.')).toBeVisible(); // else there is nothing yet that could be lost
  const box = page.getByRole('textbox', { name: 'Message' });
  const problem = page.getByText('The server cannot be reached.');
  await deft.restart('SIGKILL', async () => {
    await expect(page.getByText('The connection is lost.')).toBeVisible();
    await box.fill('Second');
    await page.keyboard.press('Enter');
    await expect(problem).toBeVisible();
  });
  await expect(page.getByText('The connection is lost.')).toBeHidden();
  await expect(problem).toBeHidden();
  await expect(box).toHaveValue('Second');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Second answer.')).toBeVisible();
});

test('two tabs show the same, and what one sends the other shows', async ({ deft, page, context }) => {
  await task(deft, page, [finish('First answer.'), finish('Second answer.')], 'First');
  await expect(log(page).getByText('First answer.')).toBeVisible();
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(log(other).getByText('First answer.')).toBeVisible();
  await other.getByRole('textbox', { name: 'Message' }).fill('Second');
  await other.keyboard.press('Enter');
  for (const tab of [page, other]) {
    await expect(log(tab).getByText('Second answer.')).toHaveCount(1);
    await expect(log(tab).locator('.message.user')).toHaveText([/First$/, /Second$/]);
  }
});

test('scrolling up reaches the first event, past windows that show nothing', async ({ deft, page }) => {
  const thoughts = Array.from({ length: 250 }, (_, i) => ({ name: 'think', arguments: { thought: `Thought ${i}` } }));
  await task(deft, page, [{ reply: { tool_calls: thoughts } }, finish('Thought out.')], 'Think much');
  await expect(log(page).getByText('Thought out.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  await page.reload(); // the newest window alone is loaded now
  await expect(log(page).getByText('Thought out.')).toBeVisible();
  const first = log(page).getByText('Think much');
  await expect(async () => {
    await page.locator('.timeline-list').evaluate((list) => list.scrollTo(0, 0));
    await expect(first).toBeVisible({ timeout: 2_000 });
  }).toPass({ timeout: 90_000 });
});
