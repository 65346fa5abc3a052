// The first visit: onboarding, a first message, tools, a reload.
import { assert, page, panel, said, send, shows, t, test } from './page.mjs';
import { greeting, model } from './steps.mjs';

test('onboarding: an LLM with a base URL', async () => {
  await t('first-run-onboarding-screen').waitFor();
  await t('confirm-telemetry-preferences').click();
  await t('onboarding-agent-option-openhands').click();
  await t('onboarding-agent-next').click();
  await model('scripted');
  await t('onboarding-llm-next').click();
  await t('onboarding-hello-input').waitFor();
});

greeting(/\/conversations\/[0-9a-f-]{36}/);

test('text appears while the model speaks', async () => {
  await send('count slowly');
  await said('one two three');
  assert.ok(!(await page.getByText('fifteen').count()), 'the whole answer came at once');
  await said('fifteen');
});

test('tools have cards, files a tree', async () => {
  await panel('files');
  const dir = await t('files-tab-workspace-path-value').innerText();
  await send(`use the tools in ${dir}`);
  await said('The tools have spoken.');
  await t('event-group-toggle').last().click();
  await shows('echo from-the-terminal');
  await t('generic-event-message-title').filter({ hasText: 'poem.txt' }).waitFor();
  await t('generic-event-message-title').filter({ hasText: 'echo from-the-terminal' }).getByRole('button').first().click();
  await page.getByText('from-the-terminal', { exact: true }).first().waitFor();
  await t('file-tree-file-poem.txt').click();
  await shows('Roses are red', t('files-tab-content'));
});

test('a reload shows the history', async () => {
  await page.reload();
  await said('You said: hello from the page');
  await said('The tools have spoken.');
  await t('event-group-toggle').first().waitFor();
});
