// Messages, code, commands, output and files are copied with a button.
import type { Locator, Page } from '@playwright/test';
import { clean } from './axe';
import { expect, finish, log, panel, run, shot, task, test, variants } from './deft';

const copied = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

const said = (page: Page, text: string) => page.locator('body > [role=status]').filter({ hasText: text });

// press copies by the keyboard: the button is reached from the text that it copies.
async function press(page: Page, button: Locator): Promise<void> {
  await button.focus();
  await expect(button).toHaveCSS('opacity', '1');
  await page.keyboard.press('Enter');
  await expect(said(page, 'Copied')).toHaveCount(1);
  await expect(page.getByRole('button', { name: 'Copied' })).toBeFocused();
}

const story = [{ reply: { tool_calls: [run(`printf '\\033[31mred\\033[0m\\n'; printf 'a\\tb\\n' > a.txt`)] } }, finish('See **this**:\n\n```sh\nls -l\necho "a  b"\n```')];

for (const [name, theme, size] of variants) {
  test(`texts are copied as they are: ${name}`, async ({ deft, page, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize(size);
    await task(deft, page, story, 'Print:\n\n```\none\n```');
    await expect(log(page).getByText('See this')).toBeVisible();
    const answer = log(page).locator('.timeline-row.message').last();

    await answer.locator('pre').focus();
    await page.keyboard.press('Tab');
    await expect(answer.getByRole('button', { name: 'Copy the code' })).toBeFocused();
    await press(page, answer.getByRole('button', { name: 'Copy the code' }));
    expect(await copied(page)).toBe('ls -l\necho "a  b"');
    await shot(page, `copy-code-${name}`);
    await press(page, answer.getByRole('button', { name: 'Copy the message' }));
    expect(await copied(page)).toBe('See **this**:\n\n```sh\nls -l\necho "a  b"\n```');
    await expect(answer.getByRole('button', { name: 'Copy the code' })).toHaveText('Copy'); // it was left
    await shot(page, `copy-message-${name}`);
    await press(page, log(page).locator('.message.user').getByRole('button', { name: 'Copy the code' }));
    expect(await copied(page)).toBe('one');

    await log(page).getByRole('button', { name: /Run printf/ }).click();
    await press(page, log(page).getByRole('button', { name: 'Copy the command' }));
    expect(await copied(page)).toContain(`printf '\\033[31mred`);
    await press(page, log(page).getByRole('button', { name: 'Copy the output' }));
    expect(await copied(page)).toBe('red');
    await clean(page, 'copied');
    await shot(page, `copy-output-${name}`);

    await panel(page, 'Files').click();
    await page.getByRole('button', { name: /^a.txt/ }).click();
    await press(page, page.getByRole('button', { name: 'Copy the file' }));
    expect(await copied(page)).toBe('a\tb\n');
    await clean(page, 'a copied file');
    await shot(page, `copy-file-${name}`);
  });
}

test('without a clipboard the page says so, and selects the text', async ({ deft, page }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await task(deft, page, [finish('See:\n\n```sh\nls -l\n```')], 'Show');
  await log(page).getByRole('button', { name: 'Copy the code' }).click();
  await expect(said(page, 'select and copy it')).toHaveCount(1);
  expect(await page.evaluate(() => getSelection()?.toString().trim())).toBe('ls -l');
});
