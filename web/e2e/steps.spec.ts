import type { Page } from '@playwright/test';
import { clean } from './axe';
import { expect, finish, log, panel, run, status, test } from './deft';

// begin has a file written three times in one turn.
async function begin(deft: Parameters<Parameters<typeof test>[2]>[0]['deft'], page: Page, variables: NodeJS.ProcessEnv = {}) {
  const write = (text: string) => ({ reply: { tool_calls: [run(`echo ${text} > a.txt`)] } });
  await deft.script([write('one'), write('two'), write('three'), finish('Written.')]);
  await deft.serve('127.0.0.1:0', variables);
  await deft.open(page, {});
  await page.getByRole('textbox', { name: 'Task' }).fill('Write it');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Written.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
}

// choose opens the dialog of a line.
async function choose(page: Page, line: string, item: 'Fork from here' | 'Rewind to here') {
  const group = log(page).getByRole('button', { name: /3 commands/ });
  const row = log(page).locator('.timeline-row', { hasText: line }).last();
  if ((await group.count()) > 0 && (await row.count()) === 0) await group.click();
  await row.hover();
  await row.getByRole('button', { name: 'Actions of this event' }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

const file = (page: Page) => page.getByRole('region', { name: 'a.txt' });

async function openFile(page: Page) {
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^a.txt/ }).click();
}

test('in the middle of a turn a fork and a rewind have the files of that step', async ({ deft, page }) => {
  await begin(deft, page);
  const source = page.url();
  await choose(page, 'echo two', 'Fork from here');
  await expect(page.getByText(/^The files are those of /)).toBeVisible();
  await clean(page, 'the dialog of a fork');
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await expect(page).not.toHaveURL(source);
  await openFile(page);
  await expect(file(page)).toHaveText('two\n');

  await page.goto(source);
  await expect(log(page).getByText('Written.')).toBeVisible();
  await choose(page, 'echo one', 'Rewind to here');
  await expect(page.getByText('a.txt comes back')).toBeVisible();
  await page.getByRole('button', { name: 'Rewind', exact: true }).click();
  await expect(log(page).getByRole('button', { name: /^Undone: / })).toBeVisible();
  await openFile(page);
  await expect(file(page)).toHaveText('one\n');
});

test('where files are kept for each message, the page says so and goes back to the message', async ({ deft, page }) => {
  await begin(deft, page, { DEFT_CONVERSATIONS_CHECKPOINTS: 'turn' });
  const source = page.url();
  await choose(page, 'echo two', 'Rewind to here');
  await expect(page.getByText('Deft keeps them at each of your messages.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Rewind', exact: true })).toBeDisabled();
  await clean(page, 'files that were not kept');
  await page.getByRole('button', { name: 'Rewind to there' }).click();
  await expect(page.getByText('a.txt is removed')).toBeVisible();
  await page.getByRole('button', { name: 'Cancel' }).click();

  await choose(page, 'echo two', 'Fork from here');
  await expect(page.getByRole('button', { name: 'Fork', exact: true })).toBeDisabled();
  await page.getByRole('button', { name: 'Fork from there' }).click();
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await expect(page).not.toHaveURL(source);
  await expect(log(page).getByText('Write it')).toBeVisible();
  await expect(log(page).getByText('echo')).toHaveCount(0);
  await panel(page, 'Files').click();
  await expect(page.getByRole('button', { name: /^a.txt/ })).toHaveCount(0);
});
