// Signs the page in at `deft serve` by the device flow, and prints a line of JSON for each case.
import { assert, go, page, setup, shot, t, test } from './page.mjs';

const host = new URL(setup.link).origin;
const context = page.context();

test('somebody is signed in', async () => {
  const person = await context.newPage();
  await person.goto(setup.link);
  await person.getByLabel('Task').or(person.getByLabel(/API key, or the address/)).first().waitFor();
  await person.close();
});

test('the page gets a key when the person allows it', async () => {
  await t('onboarding-backend-advanced-toggle').click();
  await t('onboarding-backend-cloud-host').fill(host);
  const popup = page.waitForEvent('popup');
  await t('onboarding-backend-login-button').click();
  const asked = await popup;
  await asked.waitForURL(/\/device\?user_code=[A-Z]{4}-[A-Z]{4}$/);
  await asked.getByRole('heading', { name: 'Sign a program in' }).waitFor();
  await shot('the question', asked);
  assert.equal(await t('onboarding-backend-auth-awaiting').count(), 1);
  const token = page.waitForResponse((r) => r.url() === `${host}/oauth/device/token` && r.ok());
  await asked.getByRole('button', { name: 'Allow' }).click();
  await asked.getByRole('heading', { name: 'The program is signed in' }).waitFor();
  await shot('the answer', asked);
  await token;
});

test('the key is listed, and the page works with it', async () => {
  const keys = await context.request.get(`${host}/api/keys`, { ignoreHTTPSErrors: true });
  assert.deepEqual((await keys.json()).map((k) => k.name), [`device: ${new URL(setup.page).origin}`]);
  const works = page.waitForResponse((r) => r.url().startsWith(`${host}/api/v1/`) && r.request().method() === 'GET');
  await page.reload();
  assert.notEqual((await works).status(), 401);
});

await go();
