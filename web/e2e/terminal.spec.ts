// The terminals of a conversation: several, which outlive the page.
import { join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, panel, run, task, test } from './deft';
import type { Page } from '@playwright/test';

const rows = (page: Page) => page.locator('.terminal-page:not([hidden]) .xterm-accessibility');
const input = (page: Page) => page.locator('.terminal-page:not([hidden]) .xterm-helper-textarea');
const tab = (page: Page, n: number) => page.getByRole('tab', { name: `Shell ${n}` });
const shot = async (page: Page, name: string) => {
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, `${name}.png`) });
};

async function type(page: Page, text: string): Promise<void> {
  await input(page).focus();
  await page.keyboard.type(text);
}

for (const theme of ['light', 'dark'] as const) {
  test(`several shells of the sandbox: new, switched by keys, closed: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    if (theme === 'dark') await page.setViewportSize({ width: 390, height: 780 });
    await task(deft, page, [{ reply: { tool_calls: [run('echo from-the-agent > shared.txt')] } }, finish('Ready.')], 'Prepare');
    await expect(log(page).getByText('Ready.')).toBeVisible();
    await panel(page, 'Terminal').click();
    await expect(tab(page, 1)).toHaveAttribute('aria-selected', 'true');
    await type(page, 'cat shared.txt; mine=first; echo $((6*7))x\n');
    await expect(rows(page)).toContainText('from-the-agent');
    await expect(rows(page)).toContainText('42x');
    await page.getByRole('button', { name: 'New terminal' }).click();
    await expect(page.getByRole('tab')).toHaveCount(2);
    await type(page, 'echo "($mine)"; mine=second\n');
    await expect(rows(page)).toContainText('()'); // another shell
    // The keyboard leaves the terminal, goes to the first one, and comes back into it.
    await page.keyboard.press('Shift+Escape');
    await expect(page.getByRole('tab', { selected: true })).toBeFocused();
    await page.keyboard.press('ArrowLeft');
    await expect(tab(page, 1)).toHaveAttribute('aria-selected', 'true');
    await expect(rows(page)).toContainText('42x');
    await type(page, 'echo "($mine)"\n');
    await expect(rows(page)).toContainText('(first)');
    await shot(page, `terminals-${theme}`);
    await clean(page, 'terminals');
    await page.getByRole('button', { name: 'End this shell' }).click();
    await expect(page.getByRole('tab')).toHaveCount(1);
    await type(page, 'echo "($mine)"\n');
    await expect(rows(page)).toContainText('(second)');
    // One that ends by itself says so, and a new one takes its place.
    await type(page, 'exit 3\n');
    await expect(page.getByText('The shell has ended with exit code 3.')).toBeVisible();
    await shot(page, `terminal-ended-${theme}`);
    await page.getByRole('button', { name: 'New shell' }).click();
    await type(page, 'echo new-$((2+3))\n');
    await expect(rows(page)).toContainText('new-5');
  });
}

test('shells outlive a reload and a lost connection, and another page takes one over', async ({ deft, page, context }) => {
  await task(deft, page, [finish('Ready.')], 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await panel(page, 'Terminal').click();
  await type(page, 'mine=first; echo one-$((1+1))\n');
  await expect(rows(page)).toContainText('one-2');
  await page.getByRole('button', { name: 'New terminal' }).click();
  await type(page, 'mine=second; echo two-$((1+1))\n');
  await expect(rows(page)).toContainText('two-2');
  await page.reload();
  await expect(page.getByRole('tab')).toHaveCount(2);
  await expect(rows(page)).toContainText('one-2');
  await tab(page, 2).click();
  await expect(rows(page)).toContainText('two-2');
  await type(page, 'echo "($mine)"\n');
  await expect(rows(page)).toContainText('(second)');

  // The connection is lost while the shell writes: what it has written comes, once.
  let connections = 0;
  let cut = async () => {};
  await page.routeWebSocket(/\/sockets\/terminal\//, (socket) => {
    const server = socket.connectToServer();
    if (connections++ === 0) cut = async () => void (await Promise.all([socket.close({ code: 4900 }), server.close()]));
  });
  await page.reload();
  await expect(page.getByRole('tab')).toHaveCount(2);
  await type(page, 'for i in 1 2 3 4 5 6; do echo part-$((i*7)); sleep 0.5; done\n');
  await expect(rows(page)).toContainText('part-7');
  await cut();
  await expect(rows(page)).toContainText('part-42');
  expect(connections).toBe(2);
  const text = await rows(page).innerText();
  for (const n of [7, 14, 21, 28, 35, 42]) expect(text.split(`part-${n}\n`).length, `part-${n}`).toBeLessThanOrEqual(2);

  // A second page takes the shell over; the first one says so, and takes it back.
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.getByRole('tab').first()).toBeVisible();
  await tab(other, 1).click();
  await expect(page.getByText('Another page or deft shell has this terminal now.')).toBeVisible();
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expect(other.getByText('Another page or deft shell has this terminal now.')).toBeVisible();
  await other.close();
});
