// The user's answers before actions: one by one, together, and for later.
import type { Page } from '@playwright/test';
import { clean } from './axe';
import { confirming, expect, finish, log, looks, risky, status, task, test } from './deft';

const asks = (page: Page) => page.getByRole('region', { name: 'Confirmation' });
const readable = (page: Page) => expect(asks(page).getByRole('button', { name: 'Allow once' }).first()).toHaveAttribute('aria-keyshortcuts', 'y');

test('the card takes the focus; a message that rejects says so; a text that is being written keeps the focus', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [risky('touch one')] } }, { reply: { tool_calls: [risky('touch two')] } }, { match: { user: 'something else' }, ...finish('Something else.') }], 'Make files', confirming);
  const box = page.getByRole('textbox', { name: 'Message' });
  await expect(asks(page)).toBeFocused();
  await expect(box).toHaveAttribute('placeholder', 'A message rejects the action that waits');
  await readable(page);
  await clean(page, 'a focused confirmation');
  await looks(page, 'confirm-focused');
  await page.keyboard.press('y');
  await expect(asks(page)).toContainText('touch two');
  await expect(asks(page)).toBeFocused();
  await readable(page);
  await box.fill('something else');
  await expect(page.getByRole('button', { name: 'Reject and send' })).toBeVisible();
  await page.keyboard.press('y'); // a letter of the message
  await expect(asks(page)).toContainText('touch two');
  await box.fill('do something else');
  await page.keyboard.press('Enter');
  await expect(asks(page)).toBeHidden();
  await expect(log(page).getByText('Something else.')).toBeVisible();
  await expect(log(page).getByText('rejected', { exact: true })).toBeVisible();
});

test('several actions are decided one by one or together, in every tab', async ({ deft, page }) => {
  const three = { reply: { tool_calls: [risky('touch one'), risky('mkdir two; ls'), risky('touch three')] } };
  await task(deft, page, [three, three, finish('All is decided.')], 'Make three things', confirming);
  await expect(asks(page).getByRole('heading')).toHaveText('The agent asks to take these 3 actions');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await expect(asks(other).getByRole('listitem')).toHaveCount(3);
  await clean(page, 'several actions that wait');
  await looks(page, 'confirm-several');
  await readable(page);
  await asks(page).getByRole('listitem').filter({ hasText: 'mkdir two' }).getByRole('button', { name: 'Allow once' }).focus();
  await page.keyboard.press('Y'); // Caps Lock is on
  await expect(asks(page).getByRole('listitem')).toHaveCount(2);
  await expect(asks(page)).toBeFocused();
  await expect(log(page).getByRole('button', { name: /mkdir two/ })).toContainText('allowed');
  await expect(log(page).getByText('waits for you')).toHaveCount(2);
  await expect(log(page).locator('.group-text')).toHaveText('3 actions wait');
  await expect(asks(other).getByRole('listitem')).toHaveCount(2);
  await page.reload();
  await expect(asks(page).getByRole('listitem')).toHaveCount(2);
  await readable(page);
  await expect(log(page).getByText('waits for you')).toHaveCount(2);
  await page.keyboard.press('n'); // the first one
  await expect(asks(page).getByRole('listitem')).toHaveCount(1);
  await expect(asks(page)).toContainText('touch three');
  await asks(other).getByRole('button', { name: 'Allow once' }).click();
  // The second time together.
  await expect(asks(page).getByRole('listitem')).toHaveCount(3);
  await asks(page).getByRole('button', { name: 'Allow all once' }).click();
  await expect(log(page).getByText('All is decided.')).toBeVisible();
  await expect(log(page).getByText('rejected', { exact: true })).toHaveCount(1);
});

test('a kind of actions that is allowed for later does not wait again, until it is told to', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [{ reply: { tool_calls: [risky('touch one.txt')] } }, { reply: { tool_calls: [risky('touch two.txt')] } }, finish('Both are there.'), { reply: { tool_calls: [risky('touch three.txt')] } }, finish('Three.')],
    'Make two files',
    confirming,
  );
  await expect(asks(page).getByRole('button', { name: 'Always here for commands that begin with "touch"' })).toBeVisible();
  await readable(page);
  await page.keyboard.press('a');
  await expect(log(page).getByText('Both are there.')).toBeVisible();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Change when it asks …' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Always allowed here: commands that begin with "touch"');
  await clean(page, 'kinds that are always allowed');
  await looks(page, 'confirm-granted');
  await dialog.getByRole('button', { name: 'Ask before risky actions' }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole('textbox', { name: 'Message' }).fill('one more');
  await page.keyboard.press('Enter');
  await expect(asks(page)).toContainText('touch three.txt');
  await expect(status(page, 'Needs your answer')).toBeVisible();
});
