import { confirming, expect, finish, log, panel, risky, run, status, task, test } from './deft';

test('a risky action waits; a rejection and its reason reach the model, an approval lets it run', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { reply: { text: 'I delete it.', tool_calls: [risky('rm -rf /important')] } },
      { match: { tool_result: 'use another one', assistant_turns: 1 }, reply: { tool_calls: [risky('echo allowed > allowed.txt')] } },
      { reply: { text: 'unused' } },
      finish('Both are decided.'),
    ],
    'Delete the important directory',
    confirming,
  );
  const confirm = page.getByRole('region', { name: 'Confirmation' });
  await expect(confirm).toContainText('rm -rf /important');
  await expect(confirm).toContainText('high risk');
  await expect(status(page, 'Needs your answer')).toBeVisible();
  await confirm.getByLabel('Reason for a rejection').fill('use another one');
  await page.keyboard.press('Enter');
  await expect(confirm).toContainText('echo allowed');
  await expect(log(page).getByText('rejected', { exact: true })).toBeVisible();
  // Letters answer only in the card, which takes the focus when nothing is being written.
  await page.getByRole('textbox', { name: 'Message' }).focus();
  await page.keyboard.press('Escape');
  await page.keyboard.press('y');
  await expect(confirm).toContainText('echo allowed');
  await confirm.focus();
  await expect(confirm.getByRole('button', { name: 'Allow once' })).toHaveAttribute('aria-keyshortcuts', 'y');
  await page.keyboard.press('y');
  await expect(confirm).toBeHidden();
  await expect(log(page).getByText('Both are decided.')).toBeVisible();
});

test('a run is stopped at once and goes on with the next message', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [{ reply: { tool_calls: [run('echo begun; sleep 300')] } }, finish('I went on.'), finish('I went on.')],
    'Sleep for long',
  );
  await expect(log(page).getByRole('button', { name: /Run echo begun/ })).toBeVisible();
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(status(page, 'Paused')).toBeVisible();
  await expect(log(page).getByText('Paused, and its step was stopped')).toBeVisible();
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(log(page).getByText('I went on.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
});

test('a pause that waits for the end of the step says so', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('until [ -e go ]; do sleep 0.1; done')] } }, finish('I went on.')], 'Wait for me');
  await expect(log(page).getByRole('button', { name: /Run until/ })).toBeVisible();
  await page.getByRole('button', { name: 'Pause' }).click();
  const pausing = page.getByRole('button', { name: 'Pausing …' });
  await expect(pausing).toHaveAttribute('aria-disabled', 'true');
  await expect(status(page, 'Working')).toBeVisible();
  await panel(page, 'Files').click();
  await page.locator('.panel input[type=file]').setInputFiles({ name: 'go', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await expect(status(page, 'Paused')).toBeVisible();
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(log(page).getByText('I went on.')).toBeVisible();
});

test('a message that is sent while the agent runs is shown and read at the next step', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { reply: { tool_calls: [run('until [ -e go ]; do sleep 0.1; done')] } },
      { match: { user: 'and also this' }, reply: { tool_calls: [{ name: 'finish', arguments: { message: 'I have read it.' } }] } },
    ],
    'Wait for me',
  );
  await expect(log(page).getByRole('button', { name: /Run until/ })).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('and also this');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('and also this')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Message' })).toHaveValue('');
  await panel(page, 'Files').click();
  await page.locator('.panel input[type=file]').setInputFiles({ name: 'go', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await expect(log(page).getByText('I have read it.')).toBeVisible();
});

test('what is asked is shown whole, with what would hide in it', async ({ deft, page }) => {
  const call = (name: string, more: Record<string, unknown>) => ({ name, arguments: { ...more, security_risk: 'HIGH' } });
  await task(
    deft,
    page,
    [
      { reply: { tool_calls: [risky('echo a # \u202etxt.oh\u202c'), call('file_editor', { command: 'str_replace', path: '/x', old_str: 'kept\ngone', new_str: 'kept' }), call('grep', { pattern: 'x'.repeat(500) + 'END', path: '/y' })] } },
      finish('Done.'),
    ],
    'Ask',
    confirming,
  );
  const asked = page.getByRole('region', { name: 'Confirmation' });
  await expect(asked).toContainText('echo a # \\u{202e}txt.oh\\u{202c}');
  await expect(asked).toContainText('- gone');
  await expect(asked).toContainText('xEND');
});
