// Actions that follow each other are a group with a line of its own.
import { clean } from './axe';
import { expect, finish, log, run, shot, status, task, test, type Turn } from './deft';

const view = (path: string) => ({ name: 'file_editor', arguments: { command: 'view', path } });
const create = (path: string) => ({ name: 'file_editor', arguments: { command: 'create', path, file_text: 'one\ntwo\n' } });

const turns: Turn[] = [
  { reply: { reasoning: 'I look at what is there first.', tool_calls: [run('echo "in $PWD"')] } },
  { reply: { tool_calls: [create('{{find "in (/[^ \\n]+)" .LastToolResult}}/notes.txt'), run('sleep 1.2; echo second'), run('echo third "in $PWD"; false')] } },
  { reply: { reasoning: 'That has failed; it does not matter.', tool_calls: [view('{{find "in (/[^ \\n]+)" .LastToolResult}}/notes.txt')] } },
  finish('The first part is done.'),
  { reply: { tool_calls: [run('echo fourth'), run('echo fifth'), run('echo sixth')] } },
  finish('The second part is done.'),
];

test('the actions of an earlier turn fold to one line, which opens by the keyboard and by a link', async ({ deft, page }) => {
  await task(deft, page, turns, 'Do the first part');
  await expect(log(page).getByText('The first part is done.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  const group = (name: RegExp) => log(page).getByRole('button', { name });
  const first = group(/^Ran 3 commands, changed 1 file, read 1 file/);
  await expect(first).toHaveAttribute('aria-expanded', 'true');
  await expect(first).toContainText('1 failed');
  await expect(group(/^Run echo third/)).toBeVisible();
  await expect(log(page).locator('.together')).toHaveCount(3);
  await shot(page, 'groups-newest');

  // The user may fold the newest turn, too.
  await first.click();
  await expect(group(/^Run echo third/)).toBeHidden();
  await first.click();
  await expect(group(/^Run echo third/)).toBeVisible();
  await page.reload();
  await expect(first).toHaveAttribute('aria-expanded', 'true');

  await page.getByRole('textbox', { name: 'Message' }).fill('Do the second part');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('The second part is done.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  await expect(first).toHaveAttribute('aria-expanded', 'false');
  await expect(group(/^Run echo third/)).toHaveCount(0);
  await expect(group(/^Ran 3 commands/).last()).toHaveAttribute('aria-expanded', 'true');
  await clean(page, 'a folded and an open group');
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await shot(page, `groups-${theme}-${width}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });

  await first.focus();
  await page.keyboard.press('Enter');
  await expect(first).toHaveAttribute('aria-expanded', 'true');
  await expect(first).toBeFocused();
  const row = log(page).locator('.timeline-row', { hasText: 'echo third' });
  await row.hover();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await row.getByRole('button', { name: 'Actions of this event' }).click();
  await page.getByRole('menuitem', { name: 'Copy a link' }).click();
  await first.focus();
  await page.keyboard.press('Space');
  await expect(row).toHaveCount(0);

  await page.goto(await page.evaluate(() => navigator.clipboard.readText()));
  await expect(log(page).locator('.timeline-row.target')).toContainText('echo third');
  await expect(log(page).locator('.timeline-row.target')).toBeInViewport();
  await clean(page, 'a group that a link has opened');
  await first.click(); // it stays as the user leaves it
  await expect(row).toHaveCount(0);

  await page.keyboard.press('Control+f');
  await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('echo second');
  await expect(log(page).locator('.timeline-row.target')).toContainText('echo second');
});

test.describe('in German', () => {
  test.use({ locale: 'de-DE' });

  test('a group says what was done', async ({ deft, page }) => {
    await deft.script(turns);
    await deft.serve();
    await deft.open(page);
    await page.getByRole('textbox', { name: 'Aufgabe' }).fill('Mach den ersten Teil');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(status(page, 'Fertig')).toBeVisible();
    await expect(page.getByRole('button', { name: /^3 Befehle ausgeführt, 1 Datei geändert, 1 Datei gelesen.*1 fehlgeschlagen/ })).toBeVisible();
    await shot(page, 'groups-german');
  });
});
