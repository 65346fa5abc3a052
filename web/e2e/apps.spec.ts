// The panel of programs that listen in the sandbox.
import { join } from 'node:path';
import { expect, finish, log, panel, run, task, test } from './deft';

const serve = 'echo "<h1>Of the sandbox</h1>" > index.html; mkfifo said; python3 -u -m http.server 0 --bind 127.0.0.1 > said & read line < said; echo $line';

test('programs that listen are listed, and open in a tab without a way back', async ({ deft, page, context }) => {
  await task(deft, page, [{ reply: { tool_calls: [run(serve)] } }, finish('It listens.')], 'Serve a page');
  await expect(log(page).getByText('It listens.')).toBeVisible();
  await panel(page, 'Apps').click();
  const link = page.getByRole('list', { name: 'Programs' }).getByRole('link', { name: /^Port \d+$/ });
  await expect(link).toHaveCount(1);
  // The tabs of the panels leave room for the button that closes them.
  const [last, close] = [await panel(page, 'Events').boundingBox(), await page.getByRole('button', { name: 'Close the panel' }).boundingBox()];
  expect((last?.x ?? 0) + (last?.width ?? 0)).toBeLessThanOrEqual(close?.x ?? 0);
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'apps.png') });
  const opened = context.waitForEvent('page');
  await link.click();
  const app = await opened;
  await expect(app.getByRole('heading', { name: 'Of the sandbox' })).toBeVisible();
  expect(await app.evaluate(() => [window.opener, document.referrer])).toEqual([null, '']);
  expect(new URL(app.url()).origin).not.toBe(new URL(page.url()).origin);
});

test('the panel says that nothing listens, and why a list cannot be had', async ({ deft, page }) => {
  await task(deft, page, [finish('Ready.')], 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await panel(page, 'Apps').click();
  await expect(page.getByText('No program listens now')).toBeVisible();
  await page.route('**/apps', (route) => route.fulfill({ status: 500, json: { detail: 'the sandbox does not answer' } }));
  await page.getByRole('button', { name: 'Look again' }).click();
  await expect(page.locator('.panel').getByRole('alert')).toContainText('the sandbox does not answer');
});
