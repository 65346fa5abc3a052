// Verdicts of a critic: behind the answer, with their reasons, and where there is none the error.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clean } from './axe';
import { expect, finish, log, looks, onPhone, send, status, test } from './deft';

// judge is a critic's server: its answers have a score and the likelihood of the first fault; none is status 503.
async function judge(...scores: [number, number][]): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    const next = scores.shift();
    if (!next) return response.writeHead(503).end();
    const probs = Array.from({ length: 27 }, (_, i) => (i === 0 ? next[0] : i === 6 ? next[1] : 0));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ data: [{ probs, num_classes: probs.length }] }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('a verdict stands behind the answer, sends the agent back, and is missed where the critic fails', async ({ deft, page }) => {
  const { server, url } = await judge([0.31, 0.82], [0.93, 0.1]);
  const base_url = await deft.script([finish('Done at first.'), finish('Done again.'), finish('Done without a judge.')]);
  await deft.serve();
  const verification = { critic_enabled: true, critic_server_url: url, critic_api_key: 'sk-of-the-critic', enable_iterative_refinement: true, critic_threshold: 0.6, max_refinement_iterations: 3 };
  await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test' }, verification } });
  await send(page, 'Do it');
  await expect(log(page).getByText('Done again.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  const verdict = log(page).getByRole('button', { name: 'Critic: 31 % likely to be a success' });
  await verdict.focus();
  await page.keyboard.press('Enter');
  await expect(log(page).getByText(/^Likely faults of the agent: .* \(82 %\)$/)).toBeVisible();
  await expect(log(page).getByText('Critic: 93 % likely to be a success')).toBeVisible();
  await clean(page, 'verdicts');
  await onPhone(page, () => clean(page, 'verdicts on a phone'));
  await looks(page, 'critic');

  await page.getByRole('textbox', { name: 'Message' }).fill('Once more');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Done without a judge.')).toBeVisible();
  await expect(log(page).getByRole('alert')).toContainText('There is no verdict');
  await expect(status(page, 'Finished')).toBeVisible();
  await looks(page, 'critic-failed');
  server.close();
});
