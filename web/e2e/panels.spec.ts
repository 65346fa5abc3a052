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
  const diff = page.getByRole('region', { name: /Changes of .*a.txt/ });
  await expect(diff.locator('tr.removed')).toContainText('two');
  await expect(diff.locator('tr.added')).toContainText('2');
  await page.getByLabel('Side by side').check();
  await expect(diff.locator('td.removed.half')).toContainText('two');
  await expect(diff.locator('td.added.half')).toContainText('2');
  await expect(page.getByRole('button', { name: /added b.txt/ })).toBeVisible();
});
