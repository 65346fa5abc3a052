// Messages that are edited after they were sent, and search beyond the loaded events.
import { clean } from './axe';
import { expect, finish, log, panel, run, status, task, test } from './deft';

const write = (text: string) => ({ reply: { tool_calls: [run(`echo ${text} > a.txt`)] } });

test('a sent message is edited: the conversation and its files go back to before it', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { match: { user: 'Write one', assistant_turns: 0 }, ...write('one') },
      { match: { user: 'Write one', assistant_turns: 1 }, ...finish('One is written.') },
      { match: { user: 'Write two', assistant_turns: 2 }, ...write('two') },
      { match: { user: 'Write two', assistant_turns: 3 }, ...finish('Two is written.') },
      { match: { user: 'Show', assistant_turns: 2 }, ...finish('It is shown.') },
      { match: { user: 'Write three', assistant_turns: 0 }, ...write('three') },
      { match: { user: 'Write three', assistant_turns: 1 }, ...finish('Three is written.') },
    ],
    'Write one',
  );
  await expect(status(page, 'Finished')).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('Write two');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Two is written.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();

  const row = log(page).locator('.timeline-row', { hasText: 'Write two' });
  await row.hover();
  await row.getByRole('button', { name: 'Actions of this event' }).click();
  await page.getByRole('menuitem', { name: 'Edit and send again' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit and send again' });
  await expect(dialog.getByRole('textbox', { name: 'Message' })).toHaveValue('Write two');
  await expect(dialog).toContainText('a.txt comes back');
  await clean(page, 'a message that is edited');
  await dialog.getByRole('textbox', { name: 'Message' }).fill('Show what is there');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await expect(dialog).toBeHidden();
  await expect(log(page).getByText('Show what is there')).toBeVisible();
  await expect(log(page).getByText('Write two')).toHaveCount(0);
  await expect(log(page).getByText('It is shown.')).toBeVisible();
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^a.txt/ }).click();
  await expect(page.getByRole('region', { name: 'a.txt' })).toHaveText('one\n');

  // The first one, too: then nothing is left before it.
  await page.reload();
  const first = log(page).locator('.timeline-row', { hasText: 'Write one' });
  await first.hover();
  await first.getByRole('button', { name: 'Actions of this event' }).click();
  await page.getByRole('menuitem', { name: 'Edit and send again' }).click();
  await expect(dialog).toContainText('a.txt is removed');
  await dialog.getByRole('textbox', { name: 'Message' }).fill('Write three');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await expect(log(page).getByText('Write three')).toBeVisible();
  await expect(log(page).getByText('Three is written.')).toBeVisible();
  await expect(log(page).getByText('Write one')).toHaveCount(0);
  // The file is still open: it is in the address.
  await expect(page.getByRole('region', { name: 'a.txt' })).toHaveText('three\n');
});

test('search finds what is beyond the loaded events, and goes there; also while the sandbox is paused', async ({ deft, page }) => {
  const many = Array.from({ length: 300 }, (_, i) => ({ name: 'think', arguments: { thought: `Thought ${i}` } }));
  await task(
    deft,
    page,
    [{ reply: { text: 'The Needle is said.', tool_calls: [run('echo "a needle in output"')] } }, { reply: { tool_calls: many } }, finish('Done.')],
    'Look for it',
  );
  await expect(status(page, 'Finished')).toBeVisible();
  for (const paused of [false, true]) {
    if (paused) {
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Pause the sandbox' }).click();
      await expect(page.getByRole('region', { name: 'The sandbox' })).toBeVisible();
    }
    await page.reload();
    await expect(log(page).getByText('Done.')).toBeVisible();
    await page.keyboard.press('Control+f');
    await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('needle');
    await expect(page.getByText('1 of 2')).toBeVisible();
    await expect(log(page).locator('.timeline-row.target')).toContainText('echo "a needle in output"');
    await clean(page, 'search');
    await page.keyboard.press('Enter');
    await expect(log(page).locator('.timeline-row.target')).toContainText('The Needle is said.');
    await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('nothing like it');
    await expect(page.getByText('0 of 0')).toBeVisible();
  }
});
