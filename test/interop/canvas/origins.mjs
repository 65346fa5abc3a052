// Deleting, a wrong key, and the page on another origin than the server's.
import { assert, open, page, setup, t, test } from './page.mjs';

test('delete a conversation', async () => {
  await page.goto(setup.page);
  await t('conversation-card').filter({ hasText: 'A better title' }).click();
  await t('conversation-name').locator('..').getByTestId('ellipsis-button').click();
  await t('delete-button').click();
  await page.getByRole('button', { name: /confirm|delete/i }).last().click();
  await t('conversation-card').filter({ hasText: 'A better title' }).waitFor({ state: 'detached' });
});

test('a wrong key is refused', async () => {
  const stranger = await open(setup.wrong);
  await stranger.waitForResponse((r) => r.status() === 401);
  assert.equal(await stranger.getByTestId('conversation-card').count(), 0);
  await stranger.context().close();
});

// from connects a page of another origin to a server and sends a message.
async function from(server, key, text) {
  const p = await open(setup.elsewhere);
  const id = (name) => p.getByTestId(name);
  // On a loaded machine the page sometimes does not begin with its questions.
  await id('onboarding-backend-host').waitFor({ timeout: 20000 }).catch(() => p.goto(setup.elsewhere));
  await id('onboarding-backend-host').fill(server);
  if (key) await id('onboarding-backend-api-key').fill(key);
  await id('onboarding-backend-next').click();
  await p.addLocatorHandler(id('confirm-telemetry-preferences'), (button) => button.click()); // asked once for each server, whenever that is
  await id('onboarding-agent-next').click();
  await id('sdk-section-advanced-toggle').click();
  await id('llm-custom-model-input').fill('openai/scripted');
  await id('base-url-input').fill(`${setup.llm}/v1`);
  await id('llm-api-key-input').fill('sk-scripted');
  await id('onboarding-llm-next').click();
  await id('onboarding-hello-input').fill(text);
  await id('onboarding-hello-input-form').getByTestId('submit-button').click();
  await id('agent-message').filter({ hasText: `You said: ${text}` }).waitFor();
  await p.screenshot({ path: `${setup.shots}/elsewhere-${key ? 'key' : 'open'}.png` });
  assert.deepEqual(p.broken, []);
  await p.context().close();
}

test('from another origin, with a key', () => from(setup.second, setup.key, 'hello from afar'));

test('from another origin, without a key', () => from(setup.open, '', 'hello from anywhere'));
