// Long messages are drawn in part, so that the page stays quick.
import { clean } from './axe';
import { expect, finish, log, shot, status, task, test, variants } from './deft';

for (const [name, theme, size] of variants) {
  test(`of a table of 10,000 rows the first are drawn, and more when wanted: ${name}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize(size);
    const row = (n: number) => `| ${n} | name ${n} | value ${n} |\n`;
    const table = `| Number | Name | Value |\n|---|---|---|\n${Array.from({ length: 10_000 }, (_, n) => row(n + 1)).join('')}\nThat was all.`;
    await task(deft, page, [finish(table)], 'List them');
    await expect(status(page, 'Finished')).toBeVisible(); // the rows of an unfinished answer are drawn anew
    await expect(log(page).locator('.draft')).toHaveCount(0);
    const rows = log(page).locator('tbody tr');
    await expect(log(page).getByText(/^9,60\d more lines/)).toBeVisible();
    expect(await rows.count()).toBeLessThan(500);
    const more = log(page).getByRole('button', { name: 'Show more' });
    await expect(async () => more.scrollIntoViewIfNeeded({ timeout: 1000 })).toPass();
    await shot(page, `long-table-${name}`);
    await clean(page, 'a long table');
    await more.click();
    await expect(log(page).getByText(/^8,40\d more lines/)).toBeVisible();
    expect(await rows.count()).toBeGreaterThan(1500);
    await page.getByRole('textbox', { name: 'Message' }).fill('Thanks'); // the box is still there
    await expect(page.getByRole('textbox', { name: 'Message' })).toHaveValue('Thanks');
  });
}

test('of a long message of the user the beginning is drawn, and more when wanted', async ({ deft, page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const lines = Array.from({ length: 9000 }, (_, n) => `Line ${n + 1} of \`mine\``).join('\n');
  await task(deft, page, [{ repeat: 'forever', ...finish('Read.') }], 'Hello');
  await expect(log(page).getByText('Read.')).toBeVisible();
  const box = page.getByRole('textbox', { name: 'Message' });
  // As a paste does: all at once, while fill writes line after line.
  await page.evaluate((text) => navigator.clipboard.writeText(text), lines);
  await box.press('ControlOrMeta+v');
  await box.press('Enter');
  const mine = log(page).locator('.message.user').last();
  await expect(mine.getByText(/^7,0\d\d more lines/)).toBeVisible();
  await expect(mine.locator('code')).toHaveCount(2000);
  await mine.getByRole('button', { name: 'Show more' }).click();
  await expect(mine.locator('code')).toHaveCount(8000);
});
