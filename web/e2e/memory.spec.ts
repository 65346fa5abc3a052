// Notes of earlier conversations.
import { clean } from './axe';
import { expect, finish, log, looks, onPhone, saves, send, shot, status, test } from './deft';

test('a note waits for a yes, and the next conversation begins with it', async ({ deft, page }) => {
  await deft.script([
    { match: { user: 'learn', tools: ['remember'], assistant_turns: 0 }, reply: { tool_calls: [{ name: 'remember', arguments: { scope: 'user', text: 'the user likes tea' } }] } },
    { match: { system: 'the user likes tea', user: 'Again' }, ...finish('You like tea.') },
    { match: { assistant_turns: 1 }, ...finish('Learned.') },
  ]);
  await deft.serve();
  await deft.open(page);
  await page.goto(`${deft.url}/settings/models`);
  const choice = page.getByRole('group', { name: 'What does the agent remember?' });
  await saves(page, () => choice.getByRole('radio', { name: /Notes of earlier conversations/ }).check());
  await page.reload();
  await expect(choice.getByRole('radio', { name: /Notes of earlier conversations/ })).toBeChecked();
  await clean(page, 'the choice of memory');
  await onPhone(page, async () => {
    await choice.scrollIntoViewIfNeeded();
    await clean(page, 'the choices on a phone');
    await shot(page, 'memory-choice-phone');
  });
  await page.goto(deft.url);
  await send(page, 'learn');
  const question = page.getByText('Keep in your memory, for all projects');
  await expect(question).toBeVisible();
  await expect(page.getByText('the user likes tea').first()).toBeVisible();
  await clean(page, 'the question about a note');
  await looks(page, 'memory-question');
  await onPhone(page, async () => {
    expect((await page.locator('.confirm .risk').boundingBox())!.height, 'the risk is not broken into two lines').toBeLessThan(24);
  });
  const allow = page.getByRole('button', { name: 'Allow once' });
  await expect(allow).toHaveAttribute('aria-keyshortcuts', 'y'); // it can be read
  await allow.click();
  await expect(log(page).getByText('Learned.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  await page.goto(deft.url);
  await send(page, 'Again');
  await expect(log(page).getByText('You like tea.')).toBeVisible();
});
