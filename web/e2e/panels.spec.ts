import { clean } from './axe';
import { expect, finish, log, panel, run, task, test } from './deft';

test('changes are compared in one column and side by side', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { reply: { tool_calls: [run('git init -q . ; printf "one\\ntwo\\nthree\\n" > a.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm a && printf "one\\n2\\nthree\\n" > a.txt && echo new > b.txt')] } },
      finish('Changed.'),
    ],
    'Change it',
  );
  await expect(log(page).getByText('Changed.')).toBeVisible();
  await panel(page, 'Changes').click();
  await page.getByRole('button', { name: /changed a.txt/ }).click();
  const diff = page.getByRole('group', { name: /Changes of .*a.txt/ });
  await expect(diff.locator('tr.removed')).toContainText('two');
  await expect(diff.locator('tr.added')).toContainText('2');
  await page.getByLabel('Side by side').check();
  await expect(diff.locator('td.removed.half')).toContainText('two');
  await expect(diff.locator('td.added.half')).toContainText('2');
  await expect(page.getByRole('button', { name: /added b.txt/ })).toBeVisible();
});

test('what a panel shows is in its address, and each panel has a name', async ({ deft, page }) => {
  const plan = [
    { title: 'Find it', notes: '', status: 'done' },
    { title: 'Mend it', notes: 'in src', status: 'in_progress' },
  ];
  await task(
    deft,
    page,
    [
      { reply: { tool_calls: [run('git init -q . ; mkdir -p src/deep && echo old > src/deep/a.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm a && echo new > src/deep/a.txt')] } },
      { reply: { tool_calls: [{ name: 'task_tracker', arguments: { command: 'plan', task_list: plan } }] } },
      finish('Changed.'),
    ],
    'Change it',
  );
  await expect(log(page).getByText('Changed.')).toBeVisible();
  for (const name of ['Changes', 'Files', 'Terminal', 'Browser', 'Apps', 'Plan', 'Agent', 'Usage', 'Events']) {
    await expect(panel(page, name).getByText(name)).toBeInViewport({ ratio: 1 });
  }
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^src/ }).click();
  await page.getByRole('button', { name: /^deep/ }).click();
  await page.getByRole('button', { name: /^a.txt/ }).click();
  await page.reload();
  await expect(page.getByRole('region', { name: 'a.txt', exact: true })).toHaveText('new\n');
  await page.goBack(); // to the tree, open where the file is
  await expect(page.getByRole('button', { name: /^a.txt/ })).toBeVisible();
  await panel(page, 'Changes').click();
  await page.getByRole('button', { name: /changed .*a.txt/ }).click();
  await page.reload();
  await expect(page.getByRole('group', { name: /Changes of .*a.txt/ })).toContainText('new');
  await panel(page, 'Events').click();
  await page.getByRole('button', { name: /ActionEvent task_tracker/ }).click();
  await page.reload();
  await expect(page.locator('.raw-event .code')).toContainText('"Mend it"');
  await panel(page, 'Browser').click();
  await expect(page.getByText('The agent has used no browser yet.')).toBeVisible();
  await clean(page, 'without screenshots');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('panels plan');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('complementary', { name: 'Plan' })).toContainText('1 of 2 done');
  await expect(page.getByRole('complementary', { name: 'Plan' })).toContainText('Mend it');
  await clean(page, 'the plan');
});
