import { clean } from './axe';
import { expect, finish, log, panel, run, saves, shot, status, task, test } from './deft';

test('the demo runs without a model, with real tools', async ({ deft, page }) => {
  await deft.serve();
  await deft.signIn(page);
  await page.getByRole('button', { name: 'Watch the demo' }).click();
  await page.waitForURL(/\/conversations\//);
  await expect(status(page, 'Finished')).toBeVisible();
  await panel(page, 'Changes').click();
  await page.locator('.panel').getByRole('button', { name: 'added slug.sh' }).click();
  await expect(page.getByRole('group', { name: /Changes of .*slug.sh/ }).last()).toBeVisible();
});

test('a message to the demo says that a model must be set up, and goes on with it', async ({ deft, page }) => {
  await deft.script([{ match: { user: 'and now' }, repeat: 'forever', ...finish('By the model.') }]);
  await deft.serve();
  await deft.signIn(page);
  await page.getByRole('button', { name: 'Watch the demo' }).click();
  await page.waitForURL(/\/conversations\//);
  await expect(status(page, 'Finished')).toBeVisible();
  const where = page.url();
  await page.getByRole('textbox', { name: 'Message' }).fill('and now?');
  await page.keyboard.press('Enter');
  await expect(log(page).getByRole('alert')).toContainText('Set up a model first');
  await expect(log(page).getByText('and now?')).toHaveCount(1);
  await log(page).getByRole('link', { name: 'Open the settings' }).click();
  await expect(page).toHaveURL(/settings\/models/);
  await deft.setModel(page);
  await page.goto(where);
  await log(page).getByRole('button', { name: 'Try again' }).click();
  await expect(log(page).getByText('By the model.')).toBeVisible();
  await expect(log(page).getByText('and now?')).toHaveCount(1);
});

test('commands: the palette opens pages and conversations, and keys work', async ({ deft, page }) => {
  await task(deft, page, [finish('Ready.')], 'Prepare');
  await expect(page.getByRole('heading', { name: 'A short title' })).toBeVisible();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('keyboard');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/settings\/keyboard/);
  await expect(page.getByRole('row', { name: /New task/ })).toContainText('Ctrl+Shift+O');
  await expect(page.getByRole('row', { name: /Leave the terminal/ })).toContainText('Shift+Esc');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('short title');
  await expect(page.getByRole('option', { name: /A short title/ })).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await log(page).getByText('Ready.').click();
  for (const key of ['c', 'a', 'y', '/', '?']) await page.keyboard.press(key); // a letter that misses its box does nothing
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await page.keyboard.press('Control+Shift+O');
  await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
});

test('a conversation is rewound with its files, and forked with files of its own', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [{ reply: { tool_calls: [run('echo one > a.txt')] } }, finish('First.'), { reply: { tool_calls: [run('echo two > a.txt')] } }, finish('Second.')],
    'Write one',
  );
  await expect(log(page).getByText('First.')).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('Write two');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Second.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();

  const row = log(page).locator('.timeline-row', { hasText: 'First.' });
  await row.hover();
  await row.getByRole('button', { name: 'Actions of this event' }).click();
  await page.getByRole('menuitem', { name: 'Fork from here' }).click();
  const before = page.url();
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await expect(page).not.toHaveURL(before);
  await expect(log(page).getByText('First.')).toBeVisible();
  await expect(log(page).getByText('Second.')).toHaveCount(0);
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^a.txt/ }).click();
  await expect(page.getByRole('region', { name: 'a.txt' })).toHaveText('one\n');

  await page.goto(before);
  await expect(log(page).getByText('Second.')).toBeVisible();
  const again = log(page).locator('.timeline-row', { hasText: 'First.' });
  await again.hover();
  await again.getByRole('button', { name: 'Actions of this event' }).click();
  await page.getByRole('menuitem', { name: 'Rewind to here' }).click();
  await expect(page.getByText('a.txt comes back')).toBeVisible();
  await page.getByRole('button', { name: 'Rewind', exact: true }).click();
  const undone = log(page).getByRole('button', { name: /^Undone: \d+ lines of another branch/ });
  await expect(undone).toBeVisible();
  await expect(log(page).getByText('Second.')).toHaveCount(0);
  await clean(page, 'an undone branch');
  await page.reload();
  await undone.click();
  await expect(log(page).getByText('Second.')).toBeVisible();
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^a.txt/ }).click();
  await expect(page.getByRole('region', { name: 'a.txt' })).toHaveText('one\n');
});

test('a shared conversation is read without a sign-in, and no more once it is private', async ({ deft, page, browser }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('echo hello')] } }, finish('For everybody.')], 'Share this');
  await expect(log(page).getByText('For everybody.')).toBeVisible();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Share' }).click();
  await page.getByRole('checkbox').click(); // it changes when the server has answered
  await expect(page.getByRole('checkbox')).toBeChecked();
  const link = await page.getByRole('textbox', { name: 'Link' }).inputValue();
  const dialog = page.getByRole('dialog');
  // Without TLS, from another machine, there is no clipboard.
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }));
  await dialog.getByRole('button', { name: 'Copy' }).click();
  await expect(dialog.getByRole('status')).toHaveText('The browser does not allow it: select and copy it.');
  await page.evaluate(() => Reflect.deleteProperty(navigator, 'clipboard'));
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await dialog.getByRole('button', { name: 'Copy' }).click();
  await expect(dialog.getByRole('status')).toHaveText('Copied');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(link);
  await expect(log(stranger).getByText('For everybody.')).toBeVisible();
  await expect(stranger.getByRole('textbox')).toHaveCount(0);
  await page.getByRole('checkbox').click();
  await expect(page.getByRole('checkbox')).not.toBeChecked();
  await expect(page.getByRole('textbox', { name: 'Link' })).toBeHidden();
  await stranger.reload();
  await expect(stranger.getByText('not shared any more')).toBeVisible();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await expect(dialog).toBeHidden();
  await stranger.goto(deft.url);
  await expect(stranger.getByRole('heading', { name: 'You are not signed in' })).toBeVisible();
});

test('search in a conversation, its menu, and its export', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { text: 'A needle is here.', tool_calls: [run('echo hay')] } }, finish('Done.')], 'Look');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await page.keyboard.press('Control+f');
  await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('needle');
  await expect(page.getByText('1 of 1')).toBeVisible();
  await expect(log(page).locator('.timeline-row.target')).toContainText('A needle is here.');
  await page.keyboard.press('Escape');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Export' }).click();
  expect((await download).suggestedFilename()).toMatch(/\.zip$/);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Change when it asks' }).click();
  await page.getByRole('button', { name: 'Ask before every action' }).click();
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Change when it asks' }).click();
  await expect(page.getByRole('button', { name: 'Ask before every action' })).toHaveAttribute('aria-pressed', 'true');
});

test('settings: test of the model, confirmation, MCP servers, keys', async ({ deft, page }) => {
  await deft.script([{ match: { assistant_turns: 0 }, repeat: 'forever', reply: { text: 'pong' } }]);
  await deft.serve();
  await deft.open(page);
  await page.goto(`${deft.url}/settings/models`);
  await page.getByRole('button', { name: 'Test the model' }).click();
  await expect(page.getByText('works', { exact: true })).toBeVisible();
  await page.getByRole('link', { name: 'Confirmation' }).click();
  await shot(page, 'settings-safety');
  await expect(page.getByLabel(/Before risky actions/)).toBeChecked(); // without a choice
  await saves(page, () => page.getByLabel(/Before every action/).check());
  await page.reload();
  await expect(page.getByLabel(/Before every action/)).toBeChecked();
  await page.getByRole('link', { name: 'MCP servers' }).click();
  await page.getByLabel('Name').fill('fetch');
  await page.getByLabel('Address or command').fill('https://example.com/mcp');
  await page.getByLabel('Token, if it wants one').fill('secret-token');
  await page.getByRole('button', { name: 'Add' }).click();
  await expect(page.getByText('https://example.com/mcp')).toBeVisible();
  await page.getByLabel('Name').fill('files');
  await page.getByLabel('Address or command').fill('uvx mcp-files');
  await page.getByRole('button', { name: 'Add' }).click();
  await expect(page.getByText('uvx mcp-files')).toBeVisible();
  const settings = await (await page.request.get(`${deft.url}/api/v1/settings`)).json();
  expect(settings.agent_settings.mcp_config.fetch.headers).toEqual({ Authorization: '**********' }); // the second one kept it
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByLabel('Name of the key').fill('for CI');
  await page.keyboard.press('Enter');
  const key = await page.locator('.new-key').innerText();
  const answer = await fetch(`${deft.url}/api/v1/app-conversations/count`, { headers: { Authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  await page.getByRole('button', { name: 'Delete for CI' }).click();
  await page.keyboard.press('Enter'); // the focus is on Cancel
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.getByRole('button', { name: 'Delete for CI' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('There is no key yet.')).toBeVisible();
  expect((await fetch(`${deft.url}/api/v1/app-conversations/count`, { headers: { Authorization: `Bearer ${key}` } })).status).toBe(401);
});

test('a setting shows at once what was chosen, and the former one again if the server refuses it', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  await page.goto(`${deft.url}/settings/safety`);
  await expect(page.getByLabel(/Before risky actions/)).toBeChecked();
  let answer = () => {};
  await page.route('**/api/v1/settings', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    await new Promise<void>((go) => (answer = go));
    await route.fulfill({ status: 503, json: { detail: 'The settings cannot be stored now.' } });
  });
  await page.getByLabel(/Before every action/).check(); // fails unless it shows before the answer
  answer();
  await expect(page.getByRole('alert')).toContainText('The settings cannot be stored now.');
  await expect(page.getByLabel(/Before risky actions/)).toBeChecked();
});
