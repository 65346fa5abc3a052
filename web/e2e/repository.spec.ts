// The repository that a task starts with.
import type { Page } from '@playwright/test';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, test, type Deft } from './deft';

const token = 'ghp-0123456789abcdefghij';

// gitHub is a GitHub Enterprise server with a private repository of two branches. It can
// be cloned if it has files.
async function gitHub(files: Record<string, string> | null = null) {
  const asked: string[] = [];
  const dir = files && commit(files);
  const repository = { id: 7, full_name: 'octocat/hello', private: true, default_branch: 'main', owner: { type: 'User' } };
  const answers: Record<string, unknown> = {
    '/api/v3/user': { id: 1, login: 'octocat' },
    '/api/v3/user/repos': [repository],
    '/api/v3/search/repositories': { items: [repository] },
    '/api/v3/repos/octocat/hello': repository,
    '/api/v3/repos/octocat/hello/branches': ['main', 'fix'].map((name) => ({ name, commit: { sha: '0'.repeat(40) } })),
  };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname;
    asked.push(path);
    const file = /^\/octocat\/hello(?:\.git)?\/(.+)/.exec(path)?.[1];
    if (dir && file) {
      try {
        response.end(readFileSync(join(dir, '.git', file)));
      } catch {
        response.writeHead(404).end();
      }
      return;
    }
    const answer = request.headers.authorization === `Bearer ${token}` ? answers[path] : undefined;
    response.writeHead(answer ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: 'Not Found' }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: async () => {
      await new Promise((done) => server.close(done));
      if (dir) rmSync(dir, { recursive: true, force: true });
    },
  };
}

// commit makes a repository with the files, to be served as plain files.
function commit(files: Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), 'deft-web-git-'));
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd: dir, stdio: 'pipe' });
  git('init', '-qb', 'main');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  git('add', '-A');
  git('commit', '-qm', 'one');
  git('update-server-info');
  return dir;
}

async function useToken(deft: Deft, page: Page, host: string): Promise<void> {
  const stored = await page.request.post(`${deft.url}/api/v1/secrets/git-providers`, {
    headers: { Origin: deft.url },
    data: { provider_tokens: { github: { token, host } } },
  });
  expect(stored.ok(), await stored.text()).toBe(true);
}

test('repositories and branches of a Git host are offered, and the start names them', async ({ deft, page }) => {
  const hub = await gitHub();
  await deft.script([]);
  await deft.serve();
  await deft.signIn(page);
  await useToken(deft, page, hub.url);
  await deft.setModel(page);
  const repository = page.getByRole('combobox', { name: 'Repository' });
  await expect(page.locator('#home-repositories option')).toHaveText(['private']);
  await expect(page.locator('#home-repositories option')).toHaveAttribute('value', 'octocat/hello');
  await repository.fill('octocat/hello');
  const branch = page.getByRole('combobox', { name: 'Branch' });
  await expect(branch).toHaveAttribute('placeholder', 'main');
  await expect(page.locator('#home-branches option')).toHaveCount(2);
  await branch.fill('fix');
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'repository.png') });
  const start = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/v1/app-conversations'));
  await page.getByRole('textbox', { name: 'Task' }).fill('Fix it');
  await page.keyboard.press('Enter');
  expect((await start).postDataJSON()).toMatchObject({ selected_repository: 'octocat/hello', selected_branch: 'fix', git_provider: 'github' });
  await expect(page.getByRole('region', { name: 'The start failed' }).getByRole('alert')).toBeVisible();
  expect(hub.asked.filter((path) => path.startsWith('/octocat/hello'))).not.toEqual([]);
  await hub.close();
});

test('without a Git host a name or an address is typed', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  const field = page.getByRole('textbox', { name: 'Name or address' });
  await expect(page.getByText('Repository', { exact: true })).toBeVisible();
  await expect(field).toBeHidden();
  await page.getByText('Repository', { exact: true }).click();
  await field.fill('https://127.0.0.1:1/octocat/hello');
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'address.png') });
  const start = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/v1/app-conversations'));
  await page.getByRole('textbox', { name: 'Task' }).fill('Fix it');
  await page.keyboard.press('Enter');
  expect((await start).postDataJSON()).toMatchObject({ selected_repository: 'https://127.0.0.1:1/octocat/hello', selected_branch: null, git_provider: null });
  await expect(page.getByRole('region', { name: 'The start failed' }).getByRole('alert')).toBeVisible();
});

const startWith = async (page: Page, repository: string, text: string) => {
  await page.getByText('Repository', { exact: true }).click();
  await page.getByRole('textbox', { name: 'Name or address' }).fill(repository);
  await page.getByRole('textbox', { name: 'Task' }).fill(text);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/starting\//);
};

test('a start goes on while the page is loaded again, and its log can be read later', async ({ deft, page }) => {
  const hub = await gitHub({ '.openhands/setup.sh': 'echo "npm: not <b>found</b>"; sleep 6; exit 3\n' });
  await deft.script([finish('Ready.')]);
  await deft.serve();
  await deft.signIn(page);
  await useToken(deft, page, hub.url);
  await deft.setModel(page);
  await page.getByRole('combobox', { name: 'Repository' }).fill('octocat/hello');
  await page.getByRole('textbox', { name: 'Task' }).fill('Prepare');
  await page.keyboard.press('Enter');
  const step = page.getByRole('list', { name: 'Steps' }).locator('[aria-current=step]');
  await expect(step).toHaveText('Running the setup script');
  await page.reload();
  await expect(step).toHaveText('Running the setup script');
  await clean(page, 'a start');
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'starting.png') });
  await page.goto(deft.url);
  const entry = page.getByRole('navigation', { name: 'Conversations' }).getByRole('link', { name: /Prepare/ });
  await expect(entry).toContainText('Running the setup script');
  await entry.click();
  await page.waitForURL(/\/conversations\//);
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Show the set-up log' }).click();
  await expect(page.getByRole('region', { name: 'Log of the setup' })).toContainText('npm: not <b>found</b>');
  await hub.close();
});

test('a start that fails says why, also later from the list; it is tried again, changed, or deleted', async ({ deft, page }) => {
  await deft.script([finish('Ready.')]);
  await deft.serve();
  await deft.open(page);
  await startWith(page, 'https://127.0.0.1:1/owner/name', 'Prepare');
  const failed = page.getByRole('region', { name: 'The start failed' }).getByRole('alert');
  await expect(failed).toContainText('127.0.0.1:1');
  await clean(page, 'a start that failed');
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'failed.png') });
  await page.goto(deft.url);
  const entries = page.getByRole('navigation', { name: 'Conversations' }).getByRole('link', { name: /Prepare/ });
  await expect(entries).toContainText('Not started');
  await entries.click();
  await expect(failed).toContainText('Cloning the repository: ');
  await expect(failed).toContainText('127.0.0.1:1');
  const before = page.url();
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page).not.toHaveURL(before);
  await expect(failed).toContainText('127.0.0.1:1');
  await expect(entries).toHaveCount(1); // the former one is forgotten
  await page.getByRole('button', { name: 'Change the task' }).click();
  await expect(page.getByRole('textbox', { name: 'Task' })).toHaveValue('Prepare');
  await entries.click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
  await expect(entries).toHaveCount(0);
});
