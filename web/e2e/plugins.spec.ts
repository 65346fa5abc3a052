// Plugins are installed from a marketplace after a yes, and take effect in a conversation.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clean } from './axe';
import { expect, finish, looks, onPhone, run, shot, status, test } from './deft';

test.use({ alone: true });

const market: Record<string, string> = {
  '.claude-plugin/marketplace.json': JSON.stringify({
    name: 'm',
    plugins: [
      { name: 'guard', version: '1', description: 'Watches <b>commands</b>', source: './guard' },
      { name: 'inline', source: './x', strict: false, commands: ['./a.md'] },
    ],
  }),
  'guard/.claude-plugin/plugin.json': '{"name": "guard", "version": "1", "description": "Watches <b>commands</b>"}',
  'guard/commands/go.md': 'GO ON',
  'guard/agents/bad.md': '---\nmax_iteration_per_run: many\n---\nx',
  'guard/hooks/hooks.json': '{"PreToolUse": [{"matcher": "terminal", "hooks": [{"command": "grep -q forbidden || exit 0; echo the guard refuses it >&2; exit 2"}]}]}',
};

function write(dir: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  const git = spawnSync('sh', ['-c', 'git init -q -b main && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm next'], { cwd: dir });
  expect(git.status, git.stderr.toString()).toBe(0);
}

test('a plugin of a marketplace is installed after a yes, refuses a command, and is switched off', async ({ deft, page }) => {
  const dir = join(deft.dir, 'market');
  write(dir, market);
  const app = join(deft.dir, 'app');
  mkdirSync(app);
  await deft.script([
    { match: { tool_results: 0 }, repeat: 'forever', reply: { tool_calls: [run('echo forbidden')] } },
    { match: { tool_result: 'the guard refuses it' }, reply: finish('It was refused.').reply },
    { match: { tool_results: 1 }, reply: finish('It was done.').reply },
  ]);
  await deft.serveIn(app);
  await deft.open(page);
  await page.goto(`${deft.url}/settings/plugins`);
  const shops = page.getByRole('region', { name: 'Marketplaces' });
  await shops.getByLabel('Name').fill('mine');
  await shops.getByLabel('Repository of the marketplace').fill(join(deft.dir, 'nowhere'));
  await shops.getByRole('button', { name: 'Add' }).click();
  await expect(shops.getByRole('alert')).toContainText('nowhere');
  await shops.getByLabel('Repository of the marketplace').fill(dir);
  await shops.getByRole('button', { name: 'Add' }).click();
  await expect(shops).toContainText('It cannot be installed: the marketplace itself describes its parts');
  await shops.getByRole('button', { name: 'Install guard' }).click();
  const question = page.getByRole('dialog', { name: 'Let guard run these?' });
  await expect(question).toContainText('hook at PreToolUse of terminal: runs grep -q forbidden');
  await clean(page, 'the question about a plugin');
  await shot(page, 'plugins-question');
  await onPhone(page, async () => {
    await clean(page, 'the question about a plugin on a phone');
    await shot(page, 'plugins-question-phone');
  });
  await question.getByRole('button', { name: 'Cancel' }).click();
  const mine = page.getByRole('region', { name: 'Plugins', exact: true });
  await expect(mine).toContainText('There is none yet.');
  await shops.getByRole('button', { name: 'Install guard' }).click();
  await question.getByRole('button', { name: 'Allow' }).click();
  await expect(mine).toContainText('Watches <b>commands</b>');
  await expect(mine).toContainText('agents/bad.md: ');
  await expect(shops).toContainText('installed');
  await mine.getByText('2 parts').click();
  await clean(page, 'plugins');
  await looks(page, 'plugins');
  await onPhone(page, async () => {
    await page.reload();
    await mine.getByText('2 parts').click();
    await expect(mine.getByRole('listitem').filter({ hasText: /^command/ })).toHaveCSS('display', 'list-item'); // a line of a list, and no row of the settings
    await clean(page, 'plugins on a phone');
    await shot(page, 'plugins-phone');
    await shops.getByRole('button', { name: 'Add' }).scrollIntoViewIfNeeded();
    await shot(page, 'marketplaces-phone');
  });

  const ask = async () => {
    await page.goto(deft.url);
    await page.getByRole('textbox', { name: 'Task' }).fill('Do it');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(status(page, 'Finished')).toBeVisible();
  };
  await ask();
  await expect(page.getByText('It was refused.')).toBeVisible();
  await expect(page.getByText(/agents\/bad\.md/).first()).toBeVisible();
  await page.goto(`${deft.url}/settings/plugins`);
  await mine.getByRole('checkbox', { name: /guard/ }).uncheck();
  await expect(mine.getByRole('checkbox', { name: /guard/ })).not.toBeChecked();
  await ask();
  await expect(page.getByText('It was done.')).toBeVisible();

  // An update that runs something else asks again.
  write(dir, { 'guard/hooks/hooks.json': '{"Stop": [{"hooks": [{"command": "true"}]}]}' });
  await page.goto(`${deft.url}/settings/plugins`);
  await mine.getByRole('button', { name: 'Update guard' }).click();
  await expect(question).toContainText('hook at Stop: runs true');
  await question.getByRole('button', { name: 'Allow' }).click();
  await expect(question).toHaveCount(0);
  await mine.getByRole('button', { name: 'Delete guard' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(mine).toContainText('There is none yet.');
});
