// Uses the page with `deft serve` as its backend, and prints a line of JSON for each case:
// name, ok, seconds, error. Each case saves a screenshot.
import { assert, go, page, panel, said, send, setup, shows, t, test } from './page.mjs';

const [, host, code] = /^(http:\/\/[^/]+)\/#login=(.+)$/.exec(setup.link);

async function post(path, body, cookie) {
  const r = await fetch(host + path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...(cookie && { Cookie: cookie }) } });
  assert.ok(r.ok, `${path}: ${r.status}`);
  return r;
}

const login = await post('/api/v1/login', { code });
const cookie = login.headers.getSetCookie().map((c) => c.split(';')[0]).join('; ');
const { key } = await (await post('/api/keys', { name: 'page' }, cookie)).json();

const visit = async (path, id) => {
  await page.goto(new URL(path, setup.page).href);
  await t(id).first().waitFor();
};

test('the server is the backend', async () => {
  // On a loaded machine the page sometimes does not begin with its questions.
  await t('onboarding-backend-host').waitFor({ timeout: 20000 }).catch(() => page.goto(setup.page));
  await t('onboarding-backend-name').fill('Deft');
  await t('onboarding-backend-host').fill(host);
  await t('onboarding-backend-kind-option-cloud').click();
  await t('onboarding-backend-api-key').fill(key);
  await t('onboarding-backend-next').click();
  await t('confirm-telemetry-preferences').click({ timeout: 3000 }).catch(() => null); // asked once for each server
  await t('onboarding-agent-next').click();
});

test('a model', async () => {
  await t('sdk-section-advanced-toggle').click();
  await t('llm-custom-model-input').fill('openai/scripted');
  await t('base-url-input').fill(`${setup.llm}/v1`);
  await t('llm-api-key-input').fill('sk-scripted');
  await t('onboarding-llm-next').click();
  await t('onboarding-hello-input').waitFor();
});

test('a greeting starts a conversation', async () => {
  await t('onboarding-hello-input').fill('hello from the page');
  await t('onboarding-hello-input-form').getByTestId('submit-button').click();
  await page.waitForURL(/\/conversations\/[0-9a-f-]{32}/);
  await t('user-message').filter({ hasText: 'hello from the page' }).waitFor();
  await said('You said: hello from the page');
  await t('conversation-name-title').filter({ hasText: 'A fine title' }).waitFor();
  await t('conversation-card').filter({ hasText: 'A fine title' }).waitFor();
});

test('tools have cards, files a tree', async () => {
  await panel('files');
  await send('write a poem');
  await said('The poem is written.');
  await t('generic-event-message-title').filter({ hasText: 'commit -q' }).getByRole('button').first().click();
  await page.getByText('a-poem-was-written', { exact: true }).first().waitFor();
  await page.reload(); // which lists the files of a cloud's conversation once
  await said('The poem is written.');
  await panel('files');
  await t('file-tree-dir-poems').click();
  await t('file-tree-file-poems/poem.txt').click();
  await shows('Roses are red', t('files-tab-content'));
});

test('changes, commits and a diff', async () => {
  await panel('commits');
  await shows('The first commit');
  await page.getByText('Uncommitted').click();
  // The page loads its diff editor from the Internet.
  const diff = page.waitForResponse((r) => r.url().includes('/git/diff') && r.request().method() === 'GET');
  await page.getByText('poem.txt').last().click();
  assert.deepEqual(await (await diff).json(), { original: '', modified: 'Roses are red' });
});

test('a reload shows the history', async () => {
  await page.reload();
  await said('You said: hello from the page');
  await said('The poem is written.');
  await t('generic-event-message-title').filter({ hasText: 'commit -q' }).waitFor();
});

test('stop', async () => {
  await send('work for long');
  await shows('touch started; sleep 600');
  await t('stop-button').click();
  await t('stop-button').waitFor({ state: 'detached' });
  await send('are you there?');
  await said('You said: are you there?');
});

test('rename', async () => {
  await t('conversation-name').locator('..').getByTestId('ellipsis-button').click();
  await t('rename-button').click();
  await t('conversation-name-input').fill('A better title');
  await page.keyboard.press('Enter');
  await t('conversation-card').filter({ hasText: 'A better title' }).waitFor();
  await page.reload();
  await t('conversation-name-title').filter({ hasText: 'A better title' }).waitFor();
});

test('secrets', async () => {
  await visit('/settings/secrets', 'add-secret-button');
  await t('add-secret-button').click();
  await t('name-input').fill('PAGE_TOKEN');
  await t('value-input').fill('a secret value');
  await t('description-input').fill('of the page');
  await t('add-secret-form').getByTestId('submit-button').click();
  await shows('PAGE_TOKEN');
  await page.reload();
  await shows('PAGE_TOKEN');
  assert.ok(!(await page.content()).includes('a secret value'));
});

test('confirmation', async () => {
  await visit('/settings/verification', 'verification-settings-screen');
  await page.locator('label', { has: t('sdk-settings-confirmation_mode') }).click();
  await t('save-button').click();
  await shows('Settings saved');
  await page.reload();
  await t('verification-settings-screen').waitFor();
  assert.equal(await t('sdk-settings-confirmation_mode').isChecked(), true);
});

test('a question is accepted, another rejected', async () => {
  await visit('/conversations', 'chat-input');
  await send('ask before one');
  await t('action-confirm-button').click();
  await said('It was allowed.');
  await send('ask before two');
  await t('action-reject-button').click();
  await t('action-reject-button').waitFor({ state: 'detached' });
  await page.reload();
  await said('It was allowed.');
  await panel('files');
  await t('file-tree-file-allowed-one').waitFor();
  assert.equal(await t('file-tree-file-allowed-two').count(), 0);
});

test('delete a conversation', async () => {
  await page.goto(setup.page);
  await t('conversation-card').filter({ hasText: 'A better title' }).click();
  await t('conversation-name').locator('..').getByTestId('ellipsis-button').click();
  await t('delete-button').click();
  await page.getByRole('button', { name: /confirm|delete/i }).last().click();
  await t('conversation-card').filter({ hasText: 'A better title' }).waitFor({ state: 'detached' });
});

await go();
