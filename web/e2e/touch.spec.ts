// A phone: Enter makes a new line, the terminal has the keys that are missing, fingers find their targets.
import { clean } from './axe';
import { expect, finish, log, panel, run, shot, test, type Deft, type Turn } from './deft';
import type { Page } from '@playwright/test';

test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 780 } });

// start starts a conversation as fingers do.
async function start(deft: Deft, page: Page, turns: Turn[], lines: string[]): Promise<void> {
  await deft.script(turns);
  await deft.serve();
  await deft.open(page);
  const box = page.getByRole('textbox', { name: 'Task' });
  await expect(box).toHaveAttribute('placeholder', 'Describe a task.');
  await box.tap();
  for (const [i, line] of lines.entries()) {
    if (i > 0) await page.keyboard.press('Enter');
    await page.keyboard.type(line);
  }
  await expect(box).toHaveValue(lines.join('\n'));
  await expect(page).not.toHaveURL(/conversations/);
  await page.getByRole('button', { name: 'Start', exact: true }).tap();
  await page.waitForURL(/\/conversations\//);
}

// rows are the lines of lists that lead somewhere.
const rows = '.file-list button, .raw-event > button, .change, .directory, .all-table td:first-child > a, .settings-tabs a';

// small are the things to touch that are smaller than 24 pixels, and rows that are lower than 40. Links
// within a text may be.
const small = (page: Page) =>
  page.locator('button:visible, a[href]:visible, summary:visible, select:visible, input:visible').evaluateAll((all, rows) =>
    all.flatMap((b) => {
      const { width, height } = b.getBoundingClientRect();
      return b.closest('.markdown, .skip') === null && width > 0 && (Math.min(width, height) < 24 || (b.matches(rows) && height < 39.5)) ? [`${b.getAttribute('aria-label') ?? b.textContent}: ${width} × ${height}`] : [];
    }),
    rows,
  );

test('fingers find their targets on the other pages', async ({ deft, page }) => {
  await start(deft, page, [{ reply: { tool_calls: [run('git init -q .; mkdir d; echo a > d/a.txt')] } }, finish('Made.')], ['Make it']);
  await expect(log(page).getByText('Made.')).toBeVisible();
  const conversation = page.url();
  for (const [path, text] of [
    [`${conversation}/changes`, 'a.txt'],
    [`${conversation}/files?file=d%2Fa.txt`, 'Download'],
    [`${conversation}/files`, '.git'],
    [`${conversation}/events`, 'MessageEvent'],
    [deft.url, 'Sandbox'],
    [`${deft.url}/conversations`, '1 shown'],
    [`${deft.url}/settings/models`, 'Profiles'],
  ] as const) {
    await page.goto(path);
    await expect(page.getByText(text).first()).toBeVisible();
    expect(await small(page), path).toEqual([]);
  }
});

test('the row of panels shows the name of the open one', async ({ deft, page }) => {
  await start(deft, page, [finish('Ready.')], ['Prepare']);
  await expect(log(page).getByText('Ready.')).toBeVisible();
  const conversation = page.url();
  for (const name of ['Agent', 'Events', 'Changes']) {
    await page.goto(`${conversation}/${name.toLowerCase()}`);
    await expect(panel(page, name)).toBeInViewport({ ratio: 0.95 });
    await shot(page, `touch-panels-${name}`);
  }
});

for (const theme of ['light', 'dark'] as const) {
  test(`the Enter key of a phone makes a new line, and fingers find their targets: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await start(deft, page, [finish('Two lines.')], ['first', 'second']);
    await expect(log(page).getByText('Two lines.')).toBeVisible();
    await expect(log(page).getByText('first')).toHaveText('first\nsecond');
    const narrow = await page.locator('button:visible, a.panel-tab:visible').evaluateAll((all) =>
      all.flatMap((b) => {
        const { width, height } = b.getBoundingClientRect();
        return width > 0 && Math.min(width, height) < 36 ? [`${b.getAttribute('aria-label') ?? b.textContent}: ${width} × ${height}`] : [];
      }),
    );
    expect(narrow).toEqual([]);
    await shot(page, `touch-conversation-${theme}`);
    await clean(page, 'a phone');
  });

  test(`the terminal of a phone has Esc, Ctrl, Tab and arrows: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await start(deft, page, [{ reply: { tool_calls: [run('echo its-text > completed-name.txt')] } }, finish('Ready.')], ['Prepare']);
    await expect(log(page).getByText('Ready.')).toBeVisible();
    await panel(page, 'Terminal').tap();
    const rows = page.locator('.terminal-page:not([hidden]) .xterm-accessibility');
    const key = (name: string) => page.getByRole('toolbar', { name: 'Keys' }).getByRole('button', { name, exact: true });
    await page.locator('.terminal-page:not([hidden]) .xterm-helper-textarea').focus();
    await page.keyboard.type('cat comp');
    await key('Tab').tap();
    await expect(rows).toContainText('cat completed-name.txt');
    await page.keyboard.press('Enter');
    await expect(rows).toContainText('its-text');
    await page.keyboard.type('echo $((6*7))x\n');
    await expect(rows).toContainText('42x');
    await page.keyboard.type('cat -v\n');
    await key('Esc').tap();
    await page.keyboard.type('end\n');
    await expect(rows).toContainText('^[end');
    await key('Ctrl').tap();
    await expect(key('Ctrl')).toHaveAttribute('aria-pressed', 'true');
    await shot(page, `touch-terminal-${theme}`);
    await clean(page, 'the keys of a terminal');
    await page.keyboard.type('c');
    await expect(key('Ctrl')).toHaveAttribute('aria-pressed', 'false');
    await expect(rows).toContainText('^C');
    await key('Up').tap();
    await key('Up').tap();
    await page.keyboard.press('Enter');
    await expect(rows.getByText('42x').nth(1)).toBeAttached(); // the command before the last one
  });
}
