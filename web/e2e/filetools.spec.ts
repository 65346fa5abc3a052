// Tools with which agents change files.
import { clean } from './axe';
import { expect, finish, log, run, saves, send, shot, status, test } from './deft';

test('agents change files by patches once the user has chosen that, and the diffs of all files are shown', async ({ deft, page }) => {
  const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: new/b.txt\n+hello\n*** End Patch';
  await deft.script([
    { match: { tools: ['apply_patch'], assistant_turns: 0 }, reply: { tool_calls: [run('printf "one\\ntwo\\n" > a.txt')] } },
    { match: { assistant_turns: 1 }, reply: { tool_calls: [{ name: 'apply_patch', arguments: { patch } }] } },
    { match: { assistant_turns: 2 }, ...finish('Patched.') },
  ]);
  await deft.serve();
  await deft.open(page);
  await page.goto(`${deft.url}/settings/models`);
  const choice = page.getByRole('group', { name: 'How does the agent change files?' });
  await saves(page, () => choice.getByRole('radio', { name: /By patches/ }).check());
  await page.reload();
  await expect(choice.getByRole('radio', { name: /By patches/ })).toBeChecked();
  await clean(page, 'the choice of file tools');
  await page.goto(deft.url);
  await send(page, 'Patch it');
  await expect(log(page).getByText('Patched.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  const group = log(page).getByRole('button', { name: /changed 1 file/i });
  if ((await group.count()) > 0) await group.click();
  const line = log(page).getByRole('button', { name: /Apply a patch/ });
  await expect(line).toContainText('a.txt, new/b.txt');
  await expect(line).toContainText('+2');
  await line.click();
  await expect(log(page).getByText('new/b.txt', { exact: true })).toBeVisible();
  await expect(log(page).getByText('hello')).toBeVisible();
  await clean(page, 'a patch');
  await shot(page, 'patch');
});
