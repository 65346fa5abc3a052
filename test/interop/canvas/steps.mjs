// Cases that both backends have: the agent server itself, and the App Server.
import { assert, page, panel, said, send, setup, shows, t, test } from './page.mjs';

export const visit = async (path, id) => {
  await page.goto(new URL(path, setup.page).href);
  await t(id).first().waitFor();
};

// model fills in the form of an LLM.
export async function model(name) {
  await t('sdk-section-advanced-toggle').click();
  await t('llm-custom-model-input').fill(`openai/${name}`);
  await t('base-url-input').fill(`${setup.llm}/v1`);
  await t('llm-api-key-input').fill(`sk-${name}`);
}

// greeting is the first message, which leads to an address of a form.
export const greeting = (address) =>
  test('a greeting starts a conversation', async () => {
    const titles = new Set();
    const note = async (r) => {
      if (!/conversations\?ids=/.test(r.url()) || !r.ok()) return;
      for (const c of await r.json().catch(() => [])) titles.add(c?.title); // of a page that was left there is none
    };
    page.on('response', note);
    await t('onboarding-hello-input').fill('hello from the page');
    await t('onboarding-hello-input-form').getByTestId('submit-button').click();
    await page.waitForURL(address);
    await t('user-message').filter({ hasText: 'hello from the page' }).waitFor();
    await said('You said: hello from the page');
    await t('conversation-name-title').filter({ hasText: 'A fine title' }).waitFor();
    await t('conversation-card').filter({ hasText: 'A fine title' }).waitFor();
    // The page asks every 3 s for a title that is missing, and every 30 s for one that may change.
    page.off('response', note);
    assert.deepEqual([...titles].filter(Boolean), ['A fine title']);
  });

export const stop = (before = async () => {}, stopped = async () => {}) =>
  test('stop', async () => {
    await before();
    await send('work for long');
    await shows('touch started; sleep 600');
    await t('stop-button').click();
    await t('stop-button').waitFor({ state: 'detached' });
    await stopped();
    await send('are you there?');
    await said('You said: are you there?');
  });

export const rename = () =>
  test('rename', async () => {
    await t('conversation-name').locator('..').getByTestId('ellipsis-button').click();
    await t('rename-button').click();
    await t('conversation-name-input').fill('A better title');
    await page.keyboard.press('Enter');
    await t('conversation-card').filter({ hasText: 'A better title' }).waitFor();
    await page.reload();
    await t('conversation-name-title').filter({ hasText: 'A better title' }).waitFor();
  });

export const pages = () =>
  test('pages that are drawn from schemas', async () => {
    await visit('/settings/condenser', 'condenser-settings-screen');
    await t('sdk-section-all-toggle').click();
    await t('save-button').waitFor();
    await visit('/settings/agent-context', 'agent-context-settings-screen');
    await visit('/settings/app', 'app-settings-screen');
    await visit('/settings/agents', 'agent-profile-row');
  });

export const image = () =>
  test('an image', async () => {
    const image = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
    await page.locator('input[type=file]').first().setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: image });
    await send('what is in the picture?');
    await said('You said: what is in the picture?');
    await t('user-message').last().locator('img').first().waitFor();
  });

export const secondModel = () =>
  test('a second model', async () => {
    await visit('/settings/llm', 'add-llm-profile');
    await t('add-llm-profile').click();
    await t('profile-name-input').fill('second');
    await model('second');
    await t('save-profile-btn').click();
    await t('profile-row').filter({ hasText: 'second' }).waitFor();
  });

export const changedModel = () =>
  test('a conversation changes its model', async () => {
    await t('conversation-card').filter({ hasText: 'A better title' }).click();
    await t('chat-input-llm-profile').click();
    await t('chat-input-llm-profile-option-second').click();
    await send('which model');
    await said('I am second.');
  });

export const secrets = () =>
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

// confirmation is the setting and what it leads to; refresh shows the files anew.
export function confirmation(refresh) {
  test('confirmation', async () => {
    await visit('/settings/verification', 'verification-settings-screen');
    // The App Server asks before risky actions by default.
    if (!(await t('sdk-settings-confirmation_mode').isChecked())) {
      await page.locator('label', { has: t('sdk-settings-confirmation_mode') }).click();
      await t('save-button').click();
      await shows('Settings saved');
    }
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
    await refresh();
    await t('file-tree-file-allowed-one').waitFor();
    assert.equal(await t('file-tree-file-allowed-two').count(), 0);
  });
}
