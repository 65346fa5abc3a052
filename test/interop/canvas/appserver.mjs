// Uses the page with `deft serve` as its backend, and prints a line of JSON for each case:
// name, ok, seconds, error. Each case saves a screenshot.
import { assert, go, page, panel, said, send, setup, shows, t, test } from './page.mjs';
import { changedModel, confirmation, greeting, image, model, pages, rename, secondModel, secrets, stop, visit } from './steps.mjs';

const [, host, code] = /^(http:\/\/[^/]+)\/#login=(.+)$/.exec(setup.link);

async function post(path, body, cookie) {
  const r = await fetch(host + path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...(cookie && { Cookie: cookie }) } });
  assert.ok(r.ok, `${path}: ${r.status}`);
  return r;
}

const login = await post('/api/v1/login', { code });
const cookie = login.headers.getSetCookie().map((c) => c.split(';')[0]).join('; ');
const { key } = await (await post('/api/keys', { name: 'page' }, cookie)).json();

test('the server is the backend', async () => {
  // On a loaded machine the page sometimes does not begin with its questions.
  await t('onboarding-backend-host').waitFor({ timeout: 20000 }).catch(() => page.goto(setup.page));
  await t('onboarding-backend-name').fill('Deft');
  await t('onboarding-backend-host').fill(host);
  await t('onboarding-backend-kind-option-cloud').click();
  await t('onboarding-backend-api-key').fill(key);
  await t('onboarding-backend-next').click();
  await page.addLocatorHandler(t('confirm-telemetry-preferences'), (button) => button.click()); // asked once for each server, whenever that is
  await t('onboarding-agent-next').click();
});

test('a model', async () => {
  await model('scripted');
  await t('onboarding-llm-next').click();
  await t('onboarding-hello-input').waitFor();
});

greeting(/\/conversations\/[0-9a-f-]{32}/);

test('tools have cards, files a tree', async () => {
  await panel('files');
  await send('write a poem');
  await said('The poem is written.');
  await t('generic-event-message-title').filter({ hasText: 'commit -q' }).getByRole('button').first().click();
  await page.getByText('a-poem-was-written', { exact: true }).first().waitFor();

  await panel('terminal');
  await shows('a-poem-was-written', page.locator('.xterm-rows'));
  await page.reload(); // which lists the files of a cloud's conversation anew: TestFilesOfCloud
  await said('The poem is written.');
  // The terminal shows what arrives on the socket, and not the history that the page fetches
  // before: with every server, OpenHands' own too.
  await panel('terminal');
  await shows('No terminal output');
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

// The page stops an agent by pausing the sandbox, and resumes it once it has seen that. Until it
// has seen the sandbox run again it sends nothing.
const running = (r) => r.url().includes('/api/v1/app-conversations?ids=') && r.text().then((text) => /"sandbox_status":"RUNNING"/.test(text));
let resumed;
stop(
  async () => {
    resumed = page.waitForResponse((r) => /\/sandboxes\/[^/]+\/resume$/.test(r.url())).then(() => page.waitForResponse(running));
    resumed.catch(() => null); // who waits for it is told
  },
  () => resumed,
);

image();

rename();

secrets();

pages();

secondModel();

// of is a row of the list of LLM profiles, act an entry of its menu.
const of = (name) => t('profile-row').filter({ hasText: name });
const act = async (name, entry) => {
  await of(name).getByTestId('profile-menu-trigger').click();
  await t(entry).click();
};

test('LLM profiles are renamed, edited, activated and deleted', async () => {
  await act('second', 'profile-rename');
  await t('rename-profile-input').fill('renamed');
  await t('rename-profile-submit').click();
  await of('renamed').waitFor();
  await act('renamed', 'profile-edit');
  await t('llm-custom-model-input').fill('openai/third');
  await t('save-profile-btn').click();
  await of('openai/third').waitFor();
  await act('renamed', 'profile-set-active');
  await of('renamed').getByTestId('profile-active-badge').waitFor();
  await page.reload();
  await of('renamed').getByTestId('profile-active-badge').waitFor();
  await act('renamed', 'profile-delete');
  await t('delete-profile-confirm').click();
  await of('renamed').waitFor({ state: 'detached' });
});

test('provider connections are added and deleted', async () => {
  await t('add-provider-connection').click();
  await t('provider-connection-name-input').fill('Own');
  await t('provider-connection-provider-input').fill('openai');
  await page.getByRole('option', { name: 'OpenAI', exact: true }).click();
  await t('provider-connection-api-key-input').fill('sk-own');
  await t('provider-connection-submit').click();
  await t('provider-connection-row').filter({ hasText: 'Own' }).waitFor();
  await page.reload();
  await t('provider-connection-delete').click();
  await t('delete-provider-connection-confirm').click();
  await t('provider-connection-row').waitFor({ state: 'detached' });
});

secondModel();

changedModel();

confirmation(async () => {
  await page.reload();
  await said('It was allowed.');
  await panel('files');
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
