import { clean } from './axe';
import { expect, finish, log, panel, run, shot, status, task, test } from './deft';
import type { Page } from '@playwright/test';

const notice = (page: Page) => page.getByRole('region', { name: 'The sandbox' });

const menu = async (page: Page, item: string) => {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

test('a paused sandbox is shown as such, and resumed', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('echo kept > kept.txt')] } }, finish('Written.'), { reply: { tool_calls: [run('cat kept.txt')] } }, finish('Read again.')], 'Write');
  await expect(status(page, 'Finished')).toBeVisible();
  await menu(page, 'Pause the sandbox');
  await expect(notice(page)).toContainText('The sandbox is paused.');
  await expect(log(page).getByText('Written.')).toBeVisible(); // still to be read
  await page.reload();
  await expect(notice(page)).toContainText('The sandbox is paused.');
  await expect(status(page, 'Sandbox paused')).toBeVisible();
  await expect(page.locator('.conversation-link')).toContainText('Sandbox paused');
  await expect(log(page).getByText('Written.')).toBeVisible();
  await expect(page.getByText('The connection is lost.')).toHaveCount(0);
  await clean(page, 'a paused sandbox');
  await panel(page, 'Files').click();
  await expect(page.getByText('The sandbox does not run.')).toBeVisible();
  await notice(page).getByRole('button', { name: 'Resume' }).click();
  await expect(notice(page)).toBeHidden();
  await expect(page.getByRole('button', { name: /^kept.txt/ })).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('Read it');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Read again.')).toBeVisible();
});

test('an archived conversation can be read, and goes on with its files: by its button, and by a message', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('git init -q . ; echo kept > kept.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm kept-commit')] } }, finish('Written.'), { reply: { tool_calls: [run('cat kept.txt; git log --format=%s')] } }, finish('Read again.')], 'Write');
  await expect(status(page, 'Finished')).toBeVisible();
  await menu(page, 'Archive');
  await expect(page.getByRole('dialog')).toContainText('All commits are kept, pushed or not.');
  await shot(page, 'archive');
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await expect(notice(page)).toContainText('This conversation is archived.');
  await expect(status(page, 'Archived')).toBeVisible();
  await page.reload();
  await expect(log(page).getByText('Written.')).toBeVisible();
  await notice(page).getByRole('button', { name: 'Resume' }).click();
  await expect(notice(page)).toBeHidden();
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^kept.txt/ }).click();
  await expect(page.getByRole('region', { name: 'kept.txt' })).toHaveText('kept\n');

  await menu(page, 'Archive');
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await expect(notice(page)).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('Read it');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Read again.')).toBeVisible();
  await expect(notice(page)).toBeHidden();
  await log(page).getByRole('button', { name: /Run cat kept.txt/ }).click();
  await expect(log(page).getByRole('group', { name: 'Output', exact: true })).toHaveText('kept\nkept-commit');
});

test('a resume that fails says why', async ({ deft, page }) => {
  await task(deft, page, [finish('Done.')], 'Do it');
  await expect(status(page, 'Finished')).toBeVisible();
  await menu(page, 'Pause the sandbox');
  await page.route('**/resume', (route) => route.fulfill({ status: 429, json: { detail: 'you have as many sandboxes as you may have' } }));
  await notice(page).getByRole('button', { name: 'Resume' }).click();
  await expect(notice(page).getByRole('alert')).toContainText('as many sandboxes');
  await expect(notice(page).getByRole('button', { name: 'Resume' })).toBeEnabled();
});
