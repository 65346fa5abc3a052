// The first minutes: a model is tried before it is stored, mended later, and a link signs in.
import { clean } from './axe';
import { expect, finish, log, looks, test } from './deft';

test('a model is tried before it is stored, and the failure is said', async ({ deft, page }) => {
  await deft.script([{ repeat: 'forever', ...finish('Ready.') }]);
  await deft.serve();
  await deft.signIn(page);
  const key = page.getByLabel(/API key, or the address/);
  await key.fill('sk-secret');
  await expect(key).toHaveAttribute('type', 'password');
  await expect(page.getByLabel('Model', { exact: true })).toHaveValue(/^openai\//);
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(key).toHaveAttribute('type', 'text');
  await page.getByRole('button', { name: 'Hide' }).click();
  await page.getByLabel('Address', { exact: true }).fill('http://127.0.0.1:9/v1');
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('alert')).toContainText('The model does not answer');
  await expect(page.getByRole('alert')).not.toContainText('sk-secret');
  await clean(page, 'a first model that does not answer');
  await looks(page, 'first-run');
  await page.reload(); // nothing was stored
  await key.fill('ftp://127.0.0.1/v1');
  await expect(page.getByText('begins with http:// or https://, not with ftp://')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Continue' })).toBeDisabled();
  await looks(page, 'first-run-ftp');
  await key.fill(deft.model.replace('http://', ''));
  await expect(page.getByText(`That is the address ${deft.model}`)).toBeVisible();
  await expect(page.getByLabel('Address', { exact: true })).toHaveValue(deft.model);
  await looks(page, 'first-run-address');
  await page.getByLabel('Model', { exact: true }).fill('openai/scripted');
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
});

test('the address of a model may lack its scheme, and one that is none is not stored', async ({ deft, page }) => {
  await deft.script([{ repeat: 'forever', ...finish('Ready.') }]);
  await deft.serve();
  await deft.open(page);
  await page.goto(`${deft.url}/settings`);
  const address = page.getByLabel('Address', { exact: true }).first();
  const form = page.locator('form').filter({ has: address });
  const stored = async () => (await (await page.request.get(`${deft.url}/api/v1/settings`)).json()).agent_settings?.llm?.base_url;
  await address.fill('ftp://127.0.0.1/v1');
  await expect(form).toContainText('begins with http:// or https://, not with ftp://');
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(address).toHaveAttribute('aria-invalid', 'true');
  await clean(page, 'an address that is none');
  await looks(page, 'settings-address');
  await address.fill('not an address');
  await expect(form).toContainText('This is no address.');
  await form.getByRole('button', { name: 'Save' }).click();
  expect(await stored()).toBe(deft.model);
  const other = 'localhost:19/v1';
  await address.fill(other);
  await expect(form).toContainText(`That is the address http://${other}`);
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(address).toHaveValue(`http://${other}`);
  expect(await stored()).toBe(`http://${other}`);
});

test('a failed task is tried again with the model as it was mended', async ({ deft, page }) => {
  await deft.script([{ repeat: 'forever', ...finish('By the mended model.') }]);
  await deft.serve();
  await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-of-the-test', num_retries: 0 } } });
  await page.getByRole('textbox', { name: 'Task' }).fill('Do it');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  const where = page.url();
  await expect(log(page).getByRole('alert')).toContainText('is not available');
  await looks(page, 'model-error');
  await page.setViewportSize({ width: 390, height: 780 });
  const { width } = (await log(page).getByRole('alert').getByText('is not available').boundingBox())!;
  expect(width, 'the text has room beside the buttons, or above them').toBeGreaterThan(200);
  await log(page).getByRole('link', { name: 'Open the settings' }).click();
  await page.getByLabel('Address', { exact: true }).fill(deft.model);
  await page.getByRole('region', { name: 'Model' }).getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Saved')).toBeVisible();
  await page.goto(where);
  await log(page).getByRole('button', { name: 'Try again' }).click();
  await expect(log(page).getByText('By the mended model.')).toBeVisible();
});

test.describe('a server of its own', () => {
  test.use({ alone: true });

  test('a link that is pasted into a tab without a sign-in signs in; a used one says so', async ({ deft, page }) => {
    await deft.script([]);
    await deft.serve();
    await page.goto(deft.url);
    await expect(page.getByRole('heading', { name: 'You are not signed in' })).toBeVisible();
    await page.evaluate((link) => (window.location.href = link), deft.link);
    await expect(page.getByLabel(/API key, or the address/)).toBeVisible();
    expect(page.url()).not.toContain('login');
    await page.context().clearCookies();
    await page.goto(deft.url);
    await page.evaluate((link) => (window.location.href = link), deft.link);
    await expect(page.getByText('This link was used before')).toBeVisible();
    await looks(page, 'used-link');
  });
});
