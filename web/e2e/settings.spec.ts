// Settings: the isolation in force, the author of commits, and the import from OpenHands.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, looks, panel, run, saves, shot, status, task, test } from './deft';
import { loginServer } from './oauth';

test.use({ alone: true });

const files = [
  {
    name: 'config.toml',
    mimeType: 'application/toml',
    buffer: Buffer.from('[core]\nmax_iterations = 77\nworkspace_base = "/x"\n[llm]\nmodel = "openai/gpt-5"\napi_key = "sk-hush-1"\n[llm.small]\nmodel = "openai/gpt-5-mini"\n[sandbox]\nvolumes = "/a:/b"\n'),
  },
  {
    name: 'secrets.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify({ custom_secrets: { DEPLOY: { secret: 'hush-2', description: 'for deploys' }, OLD: { secret: 'gAAAAABhush-3' } } })),
  },
];

test('settings of OpenHands are imported, after they were shown', async ({ deft, page }) => {
  await deft.serve();
  await deft.signIn(page);
  await page.goto(`${deft.url}/settings/import`);
  const input = page.getByLabel('Files of OpenHands');
  await input.setInputFiles({ name: 'package.json', mimeType: 'application/json', buffer: Buffer.from('{"name":"x"}') });
  await expect(page.getByRole('alert')).toContainText('package.json is none of the files that OpenHands keeps settings in');
  await page.getByRole('button', { name: 'Remove package.json' }).click();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await input.setInputFiles(files);
  const card = page.getByRole('region', { name: 'Import from OpenHands' });
  await expect(card).toContainText('openai/gpt-5');
  await expect(card).toContainText('profile small');
  await expect(card).toContainText('sandbox.volumes');
  await expect(card).toContainText('it is masked or sealed');
  expect(await page.content()).not.toContain('hush');
  await clean(page, 'the import');
  await shot(page, 'settings-import');
  await page.setViewportSize({ width: 390, height: 780 });
  await clean(page, 'the import on a phone');
  await shot(page, 'settings-import-phone');
  const stored = async () => (await (await page.request.get(`${deft.url}/api/v1/settings`)).json()).agent_settings?.llm?.model;
  expect(await stored()).not.toBe('openai/gpt-5');
  await page.getByRole('button', { name: /^Import these/ }).click();
  await expect(card.getByRole('status')).toContainText('settings were imported');
  expect(await stored()).toBe('openai/gpt-5');
  await page.getByRole('link', { name: 'Models' }).click();
  await expect(page.getByText('openai/gpt-5-mini')).toBeVisible();
  await page.getByRole('link', { name: 'Secrets' }).click();
  await expect(page.getByText('DEPLOY', { exact: true })).toBeVisible();
});

test('a file can be dropped', async ({ deft, page }) => {
  await deft.serve();
  await deft.signIn(page);
  await page.goto(`${deft.url}/settings/import`);
  const data = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['{"mcpServers":{"docs":{"url":"https://docs.example.com/mcp?key=hush"}}}'], 'mcp.json', { type: 'application/json' }));
    return transfer;
  });
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: data });
  await expect(page.getByRole('region', { name: 'Import from OpenHands' })).toContainText('MCP server docs');
  expect(await page.content()).not.toContain('hush');
});

// greeter is an MCP server in one line, whose one answer fits each question.
const greeter = `python3 -c 'import sys,json;[print(json.dumps({"jsonrpc":"2.0","id":m["id"],"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"greeter","version":"1"},"tools":[{"name":"greet","inputSchema":{"type":"object"}}]}}),flush=True) for m in map(json.loads,sys.stdin) if "id" in m]'`;

test('MCP servers are tested, and skills are switched off', async ({ deft, page }) => {
  const skill = join(deft.dir, '.agents', 'skills', 'greet');
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, 'SKILL.md'), '---\nname: greet\ndescription: Greets\ntriggers:\n- hello\n---\nSay hello.\n');
  writeFileSync(join(deft.dir, '.agents', 'skills', 'broken.md'), '---\nname: broken\ntriggers:\n- {\n---\nNot to be read.\n');
  await deft.serve();
  await deft.signIn(page);
  await page.goto(`${deft.url}/settings/tools`);
  for (const [name, address] of [['gone', 'http://127.0.0.1:1/mcp'], ['greeter', greeter], ['files', `touch ${deft.dir}/planted`]] as const) {
    await page.getByRole('textbox', { name: 'Name' }).fill(name);
    await page.getByRole('textbox', { name: 'Address or command' }).fill(address);
    const environment = page.getByRole('textbox', { name: 'Environment variables' });
    if (name === 'gone') await expect(environment).toHaveCount(0); // only programs have one
    else if (name === 'files') {
      await environment.fill('PLACE');
      await expect(page.getByText('Not NAME=value: PLACE')).toBeVisible();
      await expect(page.getByRole('button', { name: 'Add' })).toBeDisabled();
      await environment.fill('PLACE=of the secret\nOTHER=2');
    }
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('button', { name: `Test ${name}` }).click();
  }
  await expect(page.getByRole('listitem').filter({ hasText: 'gone' })).toContainText('refused');
  await expect(page.getByRole('listitem').filter({ hasText: 'files' })).toContainText('the program has ended');
  await expect(page.getByRole('listitem').filter({ hasText: 'greeter' })).toContainText('Its tools: greet'); // in a sandbox
  expect(existsSync(join(deft.dir, 'planted'))).toBe(false);
  await expect(page.getByRole('listitem').filter({ hasText: 'files' })).toContainText('with PLACE, OTHER');
  const kept = (await (await page.request.get(`${deft.url}/api/v1/settings`)).json()).agent_settings.mcp_config.files;
  expect(Object.keys(kept.env)).toEqual(['PLACE', 'OTHER']);
  expect(JSON.stringify(kept)).not.toContain('of the secret'); // it is masked
  await clean(page, 'MCP servers that were tested');
  await page.getByRole('link', { name: 'Skills' }).click();
  await expect(page.getByRole('listitem').filter({ hasText: 'greet' })).toContainText('at hello');
  await expect(page.getByRole('alert')).toContainText(`not loaded: ${deft.dir}/.agents/skills/broken.md: `);
  await saves(page, () => page.getByRole('checkbox', { name: /greet/ }).uncheck());
  await page.reload();
  await expect(page.getByRole('checkbox', { name: /greet/ })).not.toBeChecked();
  await expect(page.getByRole('alert')).toContainText('broken.md');
  await shot(page, 'settings-skills');
  await clean(page, 'skills');
});

test('the address of a server begins with http:// or https://, or lacks that', async ({ deft, page }) => {
  await deft.serve();
  await deft.signIn(page);
  await page.goto(`${deft.url}/settings/tools`);
  const address = page.getByRole('textbox', { name: 'Address or command' });
  await page.getByRole('textbox', { name: 'Name' }).fill('notes');
  await address.fill('ftp://localhost/mcp');
  await page.getByRole('button', { name: 'Add' }).click();
  await expect(page.getByText('begins with http:// or https://, not with ftp://')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Environment variables' })).toHaveCount(0);
  await clean(page, 'a wrong address of an MCP server');
  await looks(page, 'mcp-address');
  await address.fill('localhost:9/mcp');
  await page.getByRole('button', { name: 'Add' }).click();
  await expect(page.getByRole('listitem').filter({ hasText: 'notes' })).toContainText('http://localhost:9/mcp');
  await page.goto(`${deft.url}/settings/git`);
  await page.getByLabel('Token').fill('of-the-test');
  const host = page.getByLabel('Address, if it is one of your own');
  await host.fill('ftp://git.example.org');
  await page.getByRole('button', { name: 'Store' }).click();
  await expect(page.getByText('begins with http:// or https://, not with ftp://')).toBeVisible();
  await expect(host).toHaveAttribute('aria-invalid', 'true');
  await looks(page, 'git-address');
});

test('the isolation in force is shown, for new conversations and for one', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('echo x')] } }, finish('Done.')], 'Do it');
  await expect(status(page, 'Finished')).toBeVisible();
  await panel(page, 'Agent').click();
  await page.locator('.panel').getByText(/^Sandbox \(/).click();
  await expect(page.locator('.panel .isolation')).toContainText('In force');
  await expect(page.locator('.panel .isolation')).toContainText('seccomp');
  await clean(page, 'the isolation of a conversation');
  await page.goto(`${deft.url}/settings/sandbox`);
  const card = page.getByRole('region', { name: 'Isolation of new conversations' });
  await expect(card).toContainText('seccomp');
  await expect(card).toContainText('Limits');
  await clean(page, 'the isolation');
  await shot(page, 'settings-sandbox');
  await page.setViewportSize({ width: 390, height: 780 });
  await clean(page, 'the isolation on a phone');
  await shot(page, 'settings-sandbox-phone');
});

test('commits carry the name of the settings', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('echo x > a.txt')] } }, finish('Done.')], 'Do it');
  await expect(status(page, 'Finished')).toBeVisible();
  const conversation = page.url();
  await page.goto(`${deft.url}/settings/git`);
  const card = page.getByRole('region', { name: 'Name in commits' });
  await card.getByLabel('Name').fill('Ada Lovelace');
  await card.getByLabel('Email').fill('ada@example.com');
  await clean(page, 'the name in commits');
  await card.getByRole('button', { name: 'Save' }).click();
  await expect(card.getByRole('button', { name: 'Save' })).toBeDisabled();
  await page.reload();
  await expect(card.getByLabel('Name')).toHaveValue('Ada Lovelace');
  await expect(card.getByLabel('Email')).toHaveValue('ada@example.com');
  await page.goto(`${conversation}/changes`);
  await page.getByLabel('Message of the commit').fill('Add a');
  await page.getByRole('button', { name: /^Commit/ }).click();
  await expect(page.getByRole('button', { name: /^Commit/ })).toHaveCount(0); // nothing is left to commit
  await page.goto(`${conversation}/terminal`);
  await page.locator('.xterm-helper-textarea').focus();
  await page.keyboard.type('git log --format="%an <%ae>"\n');
  await expect(page.locator('.xterm-accessibility')).toContainText('Ada Lovelace <ada@example.com>');
});

test('a sandbox whose files have vanished is shown as lost, and resumed with those of the last checkpoint', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [{ reply: { tool_calls: [run('echo kept > kept.txt')] } }, finish('Written.'), { reply: { tool_calls: [run('cat kept.txt')] } }, finish('Read.'), { reply: { tool_calls: [run('cat kept.txt')] } }, finish('Read again.')],
    'Write',
  );
  await expect(status(page, 'Finished')).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('Read it');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Read.', { exact: true })).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  const [info] = (await (await page.request.get(`${deft.url}/api/v1/app-conversations/search`)).json()).items;
  const workspace = join(deft.dir, 'data', 'events', 'app', 'workspaces', info.sandbox_id);
  expect(existsSync(workspace)).toBe(true);
  rmSync(workspace, { recursive: true });
  await page.reload();
  const notice = page.getByRole('region', { name: 'The sandbox' });
  await expect(notice).toContainText('The sandbox is lost.');
  await expect(status(page, 'Sandbox lost')).toBeVisible();
  await expect(log(page).getByText('Written.')).toBeVisible();
  await clean(page, 'a lost sandbox');
  await shot(page, 'sandbox-lost');
  await page.emulateMedia({ colorScheme: 'dark' });
  await clean(page, 'a lost sandbox, dark');
  await shot(page, 'sandbox-lost-dark');
  await page.setViewportSize({ width: 390, height: 780 });
  await clean(page, 'a lost sandbox on a phone');
  await shot(page, 'sandbox-lost-phone');
  await page.setViewportSize({ width: 1280, height: 800 });
  await notice.getByRole('button', { name: 'Resume' }).click();
  await expect(notice).toBeHidden();
  await page.getByRole('textbox', { name: 'Message' }).fill('Read it again');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Read again.')).toBeVisible();
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^kept.txt/ }).click();
  await expect(page.getByRole('region', { name: 'kept.txt' })).toHaveText('kept\n');
});

test('the login at an MCP server leads to its page and back', async ({ deft, page }) => {
  const tracker = await loginServer();
  await deft.serve();
  await deft.signIn(page);
  await page.goto(`${deft.url}/settings/tools`);
  await page.getByRole('textbox', { name: 'Name' }).fill('tracker');
  await page.getByRole('textbox', { name: 'Address or command' }).fill(tracker.url);
  await page.getByRole('button', { name: 'Add' }).click();
  const item = page.getByRole('listitem').filter({ hasText: 'tracker' });
  await page.getByRole('button', { name: 'Test tracker' }).click();
  await expect(item).toContainText('it wants a login');

  await page.getByRole('button', { name: 'Log in at tracker' }).click();
  await page.getByRole('link', { name: 'Deny' }).click();
  await expect(page.getByRole('heading', { name: 'The login has failed' })).toBeVisible();
  await expect(page.getByText('the login was refused: access_denied')).toBeVisible();
  await clean(page, 'a refused login');
  await page.getByRole('link', { name: 'MCP servers' }).click();

  await page.getByRole('button', { name: 'Log in at tracker' }).click();
  await page.getByRole('link', { name: 'Allow' }).click();
  await expect(page.getByRole('heading', { name: 'You are logged in at tracker' })).toBeVisible();
  expect(page.url()).toBe(`${deft.url}/mcp-login`); // the code is not in the history
  await clean(page, 'a login');
  await page.getByRole('link', { name: 'MCP servers' }).click();
  await page.getByRole('button', { name: 'Test tracker' }).click();
  await expect(item).toContainText('Its tools: issues');
  const settings = await (await page.request.get(`${deft.url}/api/v1/settings`)).text();
  for (const secret of tracker.secrets) expect(settings).not.toContain(secret);

  // The login is the address's, whatever the name of the server.
  for (const [path, button] of [
    ['/other', 'Log in at tracker'],
    ['', 'Log out of tracker'],
  ] as const) {
    await page.getByRole('button', { name: 'Edit tracker' }).click();
    await page.getByRole('textbox', { name: 'Address or command' }).fill(tracker.url.replace('/mcp', '/mcp' + path));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: button }).waitFor();
  }
  await page.getByRole('button', { name: 'Log out of tracker' }).click();
  const logIn = page.getByRole('button', { name: 'Log in at tracker' });
  await logIn.waitFor();

  // The browser's Back shows the page that was left: the login can begin again.
  await page.route('**/authorize?**', (route) => route.fulfill({ status: 204 }));
  await logIn.click();
  await expect(logIn).toBeDisabled();
  await page.evaluate(() => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
  await expect(logIn).toBeEnabled();
  tracker.close();
});
