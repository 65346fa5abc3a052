// From the changes of the agent to a commit, a branch and a pull request.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, panel, run, task, test, variants } from './deft';
import { hubToken, startHub } from './hub';
import type { Page } from '@playwright/test';

const shot = async (page: Page, name: string) => {
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, `${name}.png`) });
};

const begin = 'git init -q . ; printf "one\\ntwo\\n" > a.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm a && ';

test('files are staged by the keyboard, committed, and discarded after a question', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run(begin + `printf "one\\n2\\n" > a.txt && echo b > "b c'.txt" && echo d > d.txt`)] } }, finish('Done.')], 'Write');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await panel(page, 'Changes').click();
  await expect(page.getByText('3 files changed')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Commit all' })).toBeVisible();
  const box = page.getByRole('checkbox', { name: 'Stage a.txt' });
  await box.focus();
  await page.keyboard.press('Space');
  await expect(box).toBeChecked();
  await expect(box).toBeFocused();
  const other = page.getByRole('checkbox', { name: 'Stage d.txt' });
  await other.click();
  await expect(page.getByRole('button', { name: 'Commit 2 staged' })).toBeVisible();
  await other.click();
  await expect(page.getByRole('button', { name: 'Commit 1 staged' })).toBeEnabled();
  await shot(page, 'changes-staged');
  await clean(page, 'staged');
  await page.getByLabel('Message of the commit').fill("it's done");
  await page.keyboard.press('Enter');
  await expect(page.getByText('2 files changed')).toBeVisible(); // d.txt and b c'.txt are left
  await expect(page.getByRole('checkbox', { name: 'Stage a.txt' })).toHaveCount(0);

  await page.getByRole('button', { name: "Discard b c'.txt" }).click();
  await expect(page.getByRole('dialog')).toContainText('cannot be undone');
  await expect(page.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await shot(page, 'changes-discard');
  await page.keyboard.press('Escape');
  await expect(page.getByText('2 files changed')).toBeVisible();
  await page.getByRole('button', { name: "Discard b c'.txt" }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByText('1 file changed')).toBeVisible();
  await page.getByLabel('Message of the commit').fill('the rest');
  await page.getByRole('button', { name: 'Commit all' }).click();
  await expect(page.getByText('Nothing has changed since the last commit.')).toBeVisible();
});

for (const theme of ['light', 'dark'] as const) {
  test(`changed files are a tree whose directories open and close: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    if (theme === 'dark') await page.setViewportSize({ width: 390, height: 780 });
    const files = `mkdir -p src/api/v1 src/web docs && echo a > src/api/v1/a.go && echo b > src/api/v1/b.go && echo c > src/web/c.ts && echo d > docs/d.md && echo 2 > a.txt`;
    await task(deft, page, [{ reply: { tool_calls: [run(begin + files)] } }, finish('Done.')], 'Write');
    await expect(log(page).getByText('Done.')).toBeVisible();
    await panel(page, 'Changes').click();
    await expect(page.getByText('5 files changed')).toBeVisible();
    const lines = page.locator('.change-list .change, .change-list .directory');
    await expect(lines).toHaveText([/^docs$/, /d\.md/, /^src$/, /^api\/v1$/, /a\.go/, /b\.go/, /^web$/, /c\.ts/, /a\.txt/]);
    const file = page.getByRole('button', { name: 'added src/api/v1/a.go' });
    await file.click();
    const diff = page.getByRole('group', { name: /Changes of .*a\.go/ });
    await expect(diff).toContainText('a');
    await page.getByRole('checkbox', { name: 'Stage src/api/v1/b.go' }).click();
    await expect(page.getByRole('button', { name: 'Commit 1 staged' })).toBeVisible();
    await shot(page, `changes-tree-${theme}`);
    await clean(page, 'a tree');

    const inner = page.getByRole('button', { name: 'src/api/v1', exact: true });
    await inner.focus();
    await page.keyboard.press('Enter');
    await expect(inner).toHaveAttribute('aria-expanded', 'false');
    await expect(inner).toBeFocused();
    await expect(file).toHaveCount(0);
    await expect(diff).toHaveCount(0);
    await page.getByRole('button', { name: 'docs', exact: true }).click();
    await expect(lines).toHaveText([/^docs$/, /^src$/, /^api\/v1$/, /^web$/, /c\.ts/, /a\.txt/]);
    await shot(page, `changes-closed-${theme}`);
    await clean(page, 'closed directories');
    await inner.focus();
    await page.keyboard.press('Space');
    await expect(diff).toBeVisible(); // the address still names its file
    await page.reload();
    await expect(diff).toContainText('a');
    await expect(lines).toHaveCount(9);
  });
}

for (const [name, theme, size] of variants) {
  test(`pictures, modes and renames are shown as what they are, with counts of lines: ${name}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize(size);
    const before = 'seq 30 > moved.txt && echo "echo hi" > run.sh && printf "a\\0b" > old.bin && ';
    const after = ' && mkdir -p docs && mv moved.txt docs/numbers.txt && echo 31 >> docs/numbers.txt && chmod +x run.sh && printf "\\0png" > new.png && printf "a\\0c" > old.bin && printf "one\\n2\\n3\\n" > a.txt && : > empty';
    await task(deft, page, [{ reply: { tool_calls: [run(begin.replace('git add', before + 'git add') + 'true' + after)] } }, finish('Done.')], 'Write');
    await expect(log(page).getByText('Done.')).toBeVisible();
    await panel(page, 'Changes').click();
    await expect(page.getByText('6 files changed +3 −1')).toBeVisible();
    const file = (label: string) => page.getByRole('button', { name: label });
    await expect(file('changed a.txt')).toContainText('+2 −1');
    await expect(file('moved docs/numbers.txt')).toContainText('+1');
    await expect(file('added new.png')).toContainText('binary');
    await expect(file('moved docs/numbers.txt'), 'a closed row has the old name').toContainText('numbers.txt ← ./moved.txt');
    await expect(file('changed run.sh'), 'and what else has changed').toContainText('executable');
    await shot(page, `changes-closed-${name}`);
    await file('moved docs/numbers.txt').click();
    await expect(page.getByText('Moved from moved.txt', { exact: true })).toBeVisible();
    await expect(page.getByRole('group', { name: /Changes of .*numbers.txt/ })).toContainText('31');
    await shot(page, `changes-moved-${name}`);
    await clean(page, 'a rename');
    for (const [label, text] of [
      ['changed run.sh', 'It became executable.'],
      ['added empty', 'The file is empty.'],
      ['changed old.bin', 'This is no text'],
      ['added new.png', 'This is no text'],
    ] as const) {
      await file(label).click();
      await expect(page.locator('.file-change')).toContainText(text);
      await expect(page.getByText('The text is the same.')).toHaveCount(0);
    }
    await shot(page, `changes-binary-${name}`);
    await clean(page, 'a binary file');
    await page.getByRole('checkbox', { name: 'Stage docs/numbers.txt' }).click();
    await expect(page.getByRole('button', { name: 'Commit 1 staged' })).toBeVisible();
    await page.getByRole('button', { name: 'Discard docs/numbers.txt' }).click();
    await expect(page.getByRole('dialog')).toContainText('docs/numbers.txt is deleted, and moved.txt becomes what it was');
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await expect(page.getByText('5 files changed')).toBeVisible();
    await page.getByRole('link', { name: 'Show the file' }).click();
    await expect(page).toHaveURL(/\/files\?file=new.png/);
  });
}

test('a repository within is named as such, and names and texts have no hidden directions', async ({ deft, page }) => {
  const inner = 'git init -q inner && cd inner && git config user.name a && git config user.email a@b && git commit -q --allow-empty -m a && cd ..';
  const recorded = `cp -r inner known && git add known 2> hints && git -c user.name=a -c user.email=a@b commit -qm b && cd known && git commit -q --allow-empty -m c && cd .. && rm hints`;
  const hidden = String.raw`printf 'a \342\200\256 b\n' > "$(printf 'a\342\200\256txt.exe')"`;
  await task(deft, page, [{ reply: { tool_calls: [run(`${begin}true && ${inner} && ${recorded} && ${hidden}`)] } }, finish('Done.')], 'Write');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await panel(page, 'Changes').click();
  for (const name of ['changed inner', 'changed known']) {
    await page.getByRole('button', { name }).click();
    await expect(page.getByText('This is a Git repository of its own')).toBeVisible();
    await expect(page.getByText('The text is the same.')).toHaveCount(0);
  }
  await shot(page, 'changes-inner');
  const shown = String.raw`a\u{202e}txt.exe`;
  await expect(page.getByRole('button', { name: `added ${shown}` })).toBeVisible();
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: shown }).click();
  await expect(page.locator('.preview .code')).toHaveText(String.raw`a \u{202e} b`);
  await shot(page, 'files-hidden');
});

test('of thousands of changed files the first are shown, and all when wanted', async ({ deft, page }) => {
  const files = 'mkdir -p gen/a gen/b && for i in $(seq 1001 3500); do echo $i > gen/a/$i.txt; echo $i > gen/b/$i.txt; done';
  await task(deft, page, [{ reply: { tool_calls: [run(begin + files)] } }, finish('Done.')], 'Write');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await panel(page, 'Changes').click();
  await expect(page.getByText(/5.000 files changed/)).toBeVisible();
  const lines = page.locator('.change-list > li');
  await expect(lines).toHaveCount(501);
  await page.getByRole('button', { name: 'gen/a', exact: true }).click();
  await expect(page.getByRole('button', { name: 'added gen/b/1001.txt' })).toBeVisible();
  await page.getByRole('button', { name: /^Show all/ }).click();
  await expect(lines).toHaveCount(2503);
  await page.goto(`${page.url()}?file=gen/b/3500.txt`); // beyond the first
  await expect(page.getByRole('group', { name: /Changes of .*3500.txt/ })).toContainText('3500');
  await expect(lines).toHaveCount(503);
});

test('the patch has new and changed files, and what git refuses is shown', async ({ deft, page }) => {
  const hook = `printf '#!/bin/sh\\necho tests fail >&2; exit 1\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`;
  await task(deft, page, [{ reply: { tool_calls: [run(begin + `mkdir -p .git/hooks && ${hook} && echo 2 > a.txt && echo new > b.txt`)] } }, finish('Done.')], 'Write');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await panel(page, 'Changes').click();
  const waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Patch' }).click();
  const download = await waiting;
  expect(download.suggestedFilename()).toBe('changes.patch');
  const patch = readFileSync(await download.path(), 'utf8');
  expect(patch).toContain('+new');
  expect(patch).toContain('-two');
  await page.getByLabel('Message of the commit').fill('try');
  await page.keyboard.press('Enter');
  await expect(page.locator('.panel').getByRole('alert')).toContainText('tests fail');
  await expect(page.getByLabel('Message of the commit')).toHaveValue('try');
});

for (const theme of ['light', 'dark'] as const) {
  test(`commits are pushed and proposed at the Git host: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    if (theme === 'dark') await page.setViewportSize({ width: 390, height: 780 });
    const hub = await startHub();
    await deft.script([{ reply: { tool_calls: [run('echo more >> README')] } }, finish('Done.')], '5s'); // the title comes while the user is here
    await deft.serve();
    await deft.signIn(page);
    const tokens = async (all: Record<string, unknown>) => {
      const stored = await page.request.post(`${deft.url}/api/v1/secrets/git-providers`, { headers: { Origin: deft.url }, data: { provider_tokens: all } });
      expect(stored.ok(), await stored.text()).toBe(true);
    };
    await tokens({ github: { token: hubToken, host: hub.url } });
    await deft.setModel(page);
    await page.getByRole('combobox', { name: 'Repository' }).fill('octocat/hello');
    await page.getByRole('textbox', { name: 'Task' }).fill('Say more');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(log(page).getByText('Done.')).toBeVisible();
    await panel(page, 'Changes').click();
    await page.getByRole('button', { name: 'Pull request' }).click();
    await expect(page.getByRole('dialog').getByText('commit them first')).toBeVisible();
    await page.keyboard.press('Escape');
    await page.getByLabel('Message of the commit').fill('Say more in the README');
    await page.keyboard.press('Enter');
    await expect(page.getByText('1 commit not pushed')).toBeVisible();
    await shot(page, `changes-unpushed-${theme}`);
    await clean(page, 'not pushed');

    await page.getByRole('button', { name: 'Pull request' }).click();
    const dialog = page.getByRole('dialog');
    await expect(dialog.getByLabel('Title')).toHaveValue('A short title');
    await expect(dialog.getByLabel('From the branch')).toHaveValue('deft/a-short-title');
    await dialog.getByLabel('Description').fill('It was short.');
    await shot(page, `changes-pull-${theme}`);
    await clean(page, 'pull request');
    await dialog.getByRole('button', { name: 'Push and open' }).click();
    await expect(dialog.getByRole('link', { name: 'Pull request #42' })).toHaveAttribute('href', 'https://github.example.com/octocat/hello/pull/42');
    await shot(page, `changes-opened-${theme}`);
    expect(hub.log('deft/a-short-title')).toBe('Say more in the README\none\n');
    expect(hub.pulls[0]).toMatchObject({ title: 'A short title', head: 'deft/a-short-title', base: 'main', draft: false });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect(page.getByText('not pushed')).toHaveCount(0);
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      await expect(page.getByRole('link', { name: 'Pull request #42' })).toHaveAttribute('href', 'https://github.example.com/octocat/hello/pull/42');
    }
    await shot(page, `changes-reloaded-${theme}`);
    await clean(page, 'a pull request after a reload');

    // Without a token it says what to do.
    expect((await page.request.delete(`${deft.url}/api/v1/secrets/git-providers`, { headers: { Origin: deft.url } })).ok()).toBe(true);
    await page.getByRole('button', { name: 'Push' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Push', exact: true }).click();
    await expect(page.getByRole('dialog').getByRole('alert')).toContainText('there is no token');
    await expect(page.getByRole('dialog').getByRole('link', { name: 'Settings of Git hosts' })).toBeVisible();
    await shot(page, `changes-refused-${theme}`);
    await hub.close();
  });
}
