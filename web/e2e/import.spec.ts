// Recorded conversations.
import { clean } from './axe';
import { expect, finish, log, run, shot, status, task, test } from './deft';

test('a conversation is downloaded, imported to be read, and replayed', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { tool_calls: [run('echo made > made.txt')] } }, finish('Ready.')], 'Make it');
  await expect(status(page, 'Finished')).toBeVisible();
  const id = /conversations\/([^/?#]+)/.exec(page.url())?.[1] ?? '';
  const download = await page.request.get(`${deft.url}/api/v1/app-conversations/${id}/download`);
  const file = { name: 'recorded.zip', mimeType: 'application/zip', buffer: await download.body() };
  for (const how of ['Read', 'Replay']) {
    await page.goto(`${deft.url}/conversations`);
    await page.getByRole('button', { name: 'Import' }).click();
    const dialog = page.getByRole('dialog');
    await expect(dialog.getByRole('button', { name: how })).toBeDisabled();
    await dialog.getByLabel('Trajectory').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('[{}]') });
    await dialog.getByRole('button', { name: how }).click();
    await expect(dialog.getByRole('alert')).toContainText('event 1');
    await clean(page, 'import');
    await shot(page, `import-${how.toLowerCase()}`);
    await dialog.getByLabel('Trajectory').setInputFiles(file);
    await dialog.getByRole('button', { name: how }).click();
    await page.waitForURL((url) => /\/conversations\/.+/.test(url.pathname) && !url.pathname.includes(id));
    await expect(log(page)).toContainText('Ready.');
    await expect(page).toHaveTitle(/^A short title/); // not of the file
    await clean(page, how);
    await shot(page, `imported-${how.toLowerCase()}`);
  }
  await expect(status(page, 'Finished')).toBeVisible();
});
