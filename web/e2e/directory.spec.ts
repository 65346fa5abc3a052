// A task in a directory of the server's machine, and a conversation of `deft run` that goes on.
import type { Page } from '@playwright/test';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, finish, log, looks, run, shot, status, test, type Deft } from './deft';
import { clean } from './axe';

test.use({ alone: true });

// project makes a Git repository with a commit in a directory.
function project(dir: string): string {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'README.md'), 'A project.\n');
  const git = spawnSync('sh', ['-c', 'git init -q -b main && git add . && git -c user.name=a -c user.email=a@example.org commit -qm first'], { cwd: dir });
  expect(git.status, git.stderr.toString()).toBe(0);
  return dir;
}

const turns = [{ reply: { tool_calls: [run('echo done > made.txt; pwd')] } }, finish('Made the file.')];

async function open(deft: Deft, page: Page): Promise<void> {
  await deft.open(page);
  await page.getByRole('textbox', { name: 'Task' }).waitFor();
}

test('a task works in the project in which the server was started, or in a worktree of it', async ({ deft, page }) => {
  const app = project(join(deft.dir, 'src', 'app'));
  await deft.script(turns);
  await deft.serveIn(app);
  await open(deft, page);
  const where = page.getByRole('combobox', { name: 'Directory' });
  await expect(where).toHaveValue(app);
  await expect(page.getByRole('combobox', { name: 'Sandbox', exact: true })).toHaveCount(0);
  await clean(page, 'the start in a directory');
  await shot(page, 'directory-start');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shot(page, 'directory-start-dark');
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 800 };
  await page.setViewportSize({ width: 390, height: 780 });
  await shot(page, 'directory-start-phone');
  const box = await where.boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 391), 'the field fits').toBeLessThanOrEqual(370);
  await page.setViewportSize({ width, height });
  await page.getByRole('textbox', { name: 'Task' }).fill('Make the file');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(status(page, 'Finished')).toBeVisible();
  expect(readFileSync(join(app, 'made.txt'), 'utf8')).toBe('done\n');
  await expect(page.locator('.bar')).toContainText(app);
  await clean(page, 'a conversation in a directory');
  await looks(page, 'directory-conversation');

  // With the keyboard alone: the box for the worktree follows the directory.
  await page.goto(deft.url);
  await expect(where).toHaveValue(app);
  await where.focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await expect(page.getByRole('checkbox', { name: 'In a Git worktree' })).toBeChecked();
  await page.getByRole('textbox', { name: 'Task' }).fill('Make it beside');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(status(page, 'Finished')).toBeVisible();
  const trees = spawnSync('git', ['worktree', 'list', '--porcelain'], { cwd: app }).stdout.toString().match(/^worktree .*/gm) ?? [];
  expect(trees).toHaveLength(2);
  expect(readFileSync(join(trees[1]?.slice('worktree '.length) ?? '', 'made.txt'), 'utf8')).toBe('done\n');

  // Deleting a conversation leaves the directory as it is.
  const [id] = /[0-9a-f]{32}/.exec(page.url()) ?? [];
  expect((await page.request.delete(`${deft.url}/api/v1/app-conversations/${id}`, { headers: { Origin: deft.url } })).ok()).toBe(true);
  expect(existsSync(join(app, 'made.txt'))).toBe(true);
});

test('a task that is started before the project is known works in the project, too', async ({ deft, page }) => {
  const app = project(join(deft.dir, 'src', 'app'));
  await deft.script(turns);
  await deft.serveIn(app);
  let answer = () => {};
  const known = new Promise<void>((done) => (answer = done));
  await page.route('**/api/v1/directories', async (route) => {
    await known;
    await route.continue();
  });
  await open(deft, page);
  await page.getByRole('textbox', { name: 'Task' }).fill('Make the file');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Start', exact: true })).toBeDisabled();
  expect(page.url()).not.toContain('conversations');
  answer();
  await page.waitForURL(/\/conversations\//);
  await expect(status(page, 'Finished')).toBeVisible();
  expect(readFileSync(join(app, 'made.txt'), 'utf8')).toBe('done\n');
});

test('a shared conversation does not show where the directory is', async ({ deft, page, browser }) => {
  const app = project(join(deft.dir, 'src', 'my app'));
  const edit = { name: 'file_editor', arguments: { command: 'create', path: join(app, 'new.txt'), file_text: 'new\n' } };
  await deft.script([{ reply: { tool_calls: [run('echo "in $PWD"'), edit] } }, finish(`It is in ${app}/new.txt.`)]);
  await deft.serveIn(app);
  await open(deft, page);
  await page.getByRole('textbox', { name: 'Task' }).fill('Make the file');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(status(page, 'Finished')).toBeVisible();
  const id = page.url().split('/').pop() ?? '';
  expect((await page.request.patch(`${deft.url}/api/v1/app-conversations/${id}`, { headers: { Origin: deft.url }, data: { public: true } })).ok()).toBe(true);
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(`${deft.url}/shared/${id}`);
  await expect(log(stranger).getByText('It is in /workspace/project/new.txt.')).toBeVisible();
  await log(stranger).getByRole('button', { name: /Run echo/ }).click();
  await expect(log(stranger).getByRole('group', { name: 'Output', exact: true })).toHaveText('in /workspace/project');
  await expect(log(stranger)).not.toContainText('my app');
  const answer = await stranger.request.get(`${deft.url}/api/shared-events/search?conversation_id=${id}&limit=100`);
  expect(await answer.text()).not.toContain(app);
  await shot(stranger, 'directory-shared');
});

test('a directory that deft run refuses is refused, and the text stays', async ({ deft, page }) => {
  await deft.script(turns);
  await deft.serve();
  await open(deft, page);
  const where = page.getByRole('textbox', { name: 'Directory' });
  await expect(where).toHaveValue('');
  await where.fill('/etc');
  await page.getByRole('textbox', { name: 'Task' }).fill('Change it');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert').filter({ hasText: 'cannot be the system directory /etc' })).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Task' })).toHaveValue('Change it');
  await shot(page, 'directory-refused');
});

test('a conversation of deft run is listed, opened and continued in its directory', async ({ deft, page }) => {
  const app = project(join(deft.dir, 'src', 'app'));
  await deft.script([...turns, { reply: { tool_calls: [run('echo more >> made.txt')] } }, finish('Added a line.')]);
  deft.command(app, 'run', '--model', 'openai/scripted', '--base-url', deft.model, 'Make the file');
  await deft.serve();
  await open(deft, page);
  await expect(page.getByRole('combobox', { name: 'Directory' }).locator('option')).toHaveText(['none: a new sandbox', app, 'another …']);
  await page.getByRole('link', { name: /Make the file/ }).click();
  await expect(log(page)).toContainText('Made the file.');
  await expect(page.getByText('deft run made this conversation')).toBeVisible();
  await expect(page.getByRole('region', { name: 'The sandbox' })).toContainText(app);
  await clean(page, 'a conversation of deft run');
  await shot(page, 'directory-terminal');
  await page.getByRole('textbox', { name: 'Message' }).fill('Add a line');
  await page.keyboard.press('Enter');
  await expect(log(page)).toContainText('Added a line.');
  await expect(status(page, 'Finished')).toBeVisible();
  expect(readFileSync(join(app, 'made.txt'), 'utf8')).toBe('done\nmore\n');
  await shot(page, 'directory-continued');
});

test('a plugin of the project and one of its agents are asked about, and run once they are allowed', async ({ deft, page }) => {
  const app = project(join(deft.dir, 'src', 'app'));
  for (const [file, text] of Object.entries({
    '.agents/plugins/rules/hooks/hooks.json': '{"hooks": {"PreToolUse": [{"matcher": "terminal", "hooks": [{"command": "echo nothing is pushed >&2; exit 2"}]}]}}',
    '.agents/agents/looker.md': '---\nname: looker\ndescription: looks\nmcp_servers: {db: {command: db-server}}\n---\nLook.\n',
  })) {
    mkdirSync(join(app, file, '..'), { recursive: true });
    writeFileSync(join(app, file), text);
  }
  await deft.script([finish('Ready.'), { reply: { tool_calls: [run('echo pushed')] } }, finish('Ready again.')]);
  await deft.serveIn(app);
  await open(deft, page);
  await page.getByRole('textbox', { name: 'Task' }).fill('Prepare');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  const asked = page.getByRole('region', { name: 'Programs of .agents/plugins/rules' });
  await expect(asked.getByText('echo nothing is pushed')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Programs of .agents/agents/looker.md' }).getByText('db-server')).toBeVisible();
  await clean(page, 'programs of the project');
  await shot(page, 'project-programs');
  await asked.getByRole('button', { name: 'Allow them' }).click();
  await expect(asked).toBeHidden();
  await page.getByRole('textbox', { name: 'Message' }).fill('Push');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Ready again.')).toBeVisible();
  await expect(log(page).getByText('nothing is pushed').first()).toBeVisible();
});
