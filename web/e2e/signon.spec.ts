import type { Page } from '@playwright/test';
import { clean } from './axe';
import { expect, finish, log, run, send, shot, test } from './deft';
import { identityProvider } from './oidc';

const signIn = async (page: Page, person: string) => {
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await page.getByRole('link', { name: person, exact: true }).click();
};

test('two people sign in, and each has conversations of an own', async ({ deft, page, browser }) => {
  const provider = await identityProvider('Ann', 'Bob');
  const model = await deft.script([{ reply: { tool_calls: [run('echo of ann')] } }, finish('Done.')]);
  await deft.serve('127.0.0.1:0', { ...provider.variables, LLM_MODEL: 'openai/scripted', LLM_BASE_URL: model, LLM_API_KEY: 'sk-of-the-test' });

  await page.goto(`${deft.url}/settings/account?x=1`);
  await expect(page.getByRole('heading', { name: 'You are not signed in' })).toBeVisible();
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await clean(page, `sign in ${theme}`);
    await shot(page, `sign-in-${theme}`);
  }
  await signIn(page, 'Refuse');
  await expect(page.getByRole('alert')).toContainText('You were not signed in');
  await clean(page, 'refused');
  await shot(page, 'sign-in-refused');

  await page.goto(`${deft.url}/settings/account?x=1`);
  await signIn(page, 'Ann');
  await expect(page).toHaveURL(`${deft.url}/settings/account?x=1`);
  await expect(page.getByText('Ann, ann@example.org')).toBeVisible();
  await expect(page.getByText('this browser')).toBeVisible();
  await page.goto(deft.url);
  await send(page, 'Say of whom you are');
  await expect(log(page)).toContainText('Done.');
  const conversation = page.url();

  // Bob sees nothing of it, not even by its address.
  const other = await browser.newContext();
  const bob = await other.newPage();
  await bob.goto(conversation);
  await signIn(bob, 'Bob');
  await expect(bob.getByRole('heading', { name: 'There is no such conversation' })).toBeVisible();
  await expect(bob.getByRole('navigation', { name: 'Conversations' })).not.toContainText('whom');

  // Ann signs in once more elsewhere, and ends her first session there: her draft stays.
  await page.goto(deft.url);
  await page.getByRole('textbox', { name: 'Task' }).fill('Half a thought');
  await bob.goto(`${deft.url}/settings/account`);
  await bob.getByRole('button', { name: 'Sign out' }).click();
  await signIn(bob, 'Ann');
  await bob.goto(`${deft.url}/settings/account`);
  await expect(bob.getByText(/signed in/i).nth(1)).toBeVisible();
  for (const theme of ['light', 'dark'] as const) {
    await bob.emulateMedia({ colorScheme: theme });
    await clean(bob, `account ${theme}`);
    await shot(bob, `account-${theme}`);
  }
  await bob.getByRole('button', { name: 'Sign all other browsers out' }).click();
  await expect(bob.getByRole('button', { name: 'Sign all other browsers out' })).toBeHidden();
  await page.getByRole('link', { name: 'All conversations' }).click();
  await expect(page.getByRole('heading', { name: 'You are not signed in' })).toBeVisible();
  await signIn(page, 'Ann');
  await page.getByRole('link', { name: 'New task' }).click();
  await expect(page.getByRole('textbox', { name: 'Task' })).toHaveValue('Half a thought');

  await other.close();
  provider.close();
});

test('without a provider the sign-in page names the printed link', async ({ deft, page }) => {
  await deft.serve();
  await page.goto(`${deft.url}/#sign-in=unavailable`);
  await expect(page.getByRole('main')).toContainText('Open the address that Deft printed');
  await expect(page.getByRole('link', { name: /Sign in with/ })).toHaveCount(0);
});
