import { clean } from './axe';
import { confirming, expect, finish, log, risky, run, task, test } from './deft';

for (const theme of ['light', 'dark'] as const) {
  test(`no page has a barrier that axe finds: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await deft.script([]);
    await deft.serve();
    await deft.signIn(page);
    await expect(page.getByLabel(/API key, or the address/)).toBeVisible();
    await clean(page, 'first run');
    await deft.setModel(page);
    await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
    await clean(page, 'home');
    for (const tab of ['models', 'secrets', 'safety', 'tools', 'git', 'keys', 'appearance', 'keyboard']) {
      await page.goto(`${deft.url}/settings/${tab}`);
      await expect(page.getByRole('heading', { name: 'Settings' })).toBeVisible();
      await clean(page, `settings ${tab}`);
    }
  });

  test(`the page of a conversation and its panels have no barrier either: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await task(
      deft,
      page,
      [
        { reply: { reasoning: 'Think first.', text: '# Plan\n\n- one\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |', tool_calls: [run('echo hello > a.txt; false')] } },
        { reply: { tool_calls: [risky('rm a.txt')] } },
        finish('Done, see https://example.com/.'),
      ],
      'Do it',
      confirming,
    );
    await expect(page.getByRole('region', { name: 'Confirmation' })).toContainText('rm a.txt');
    await log(page).locator('.action-line').first().click();
    await clean(page, 'confirmation');
    await page.getByRole('button', { name: /Allow/ }).click();
    await expect(log(page).getByText('Done, see')).toBeVisible();
    for (const name of ['Changes', 'Files', 'Terminal', 'Agent', 'Usage', 'Events']) {
      await page.getByRole('link', { name, exact: true }).click();
      await expect(page.getByRole('complementary', { name })).toBeVisible();
      await clean(page, name);
    }
  });
}

test('a phone: no sideways scrolling, and everything in reach', async ({ deft, page }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await task(deft, page, [{ reply: { text: 'I run it.', tool_calls: [run('echo a-rather-long-command-line-that-does-not-fit-on-a-phone-at-all > file.txt')] } }, finish('Done on a phone.')], 'Do it');
  await expect(log(page).getByText('Done on a phone.')).toBeVisible();
  const fits = async () => expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await fits();
  for (const name of ['Changes', 'Files', 'Terminal', 'Agent', 'Usage', 'Events']) {
    await page.getByRole('link', { name, exact: true }).click();
    await expect(page.getByRole('complementary', { name })).toBeVisible();
    await fits();
  }
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await page.getByRole('button', { name: 'Open the menu' }).click();
  await page.getByRole('link', { name: 'New task' }).click();
  await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
  await fits();
});

test('the keyboard alone starts, reads and steers', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('echo hello')] } }, finish('Done.')], 'Do it');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Message' })).toBeFocused();
  await log(page).getByRole('button', { name: /Run echo/ }).focus();
  await page.keyboard.press('Enter');
  await expect(log(page).getByRole('group', { name: 'Output' })).toHaveText('hello');
});
