// The browser with the page, functions to use it, and the runner of the cases.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

export const setup = JSON.parse(process.env.DEFT_INTEROP); // see page_test.go
export { assert };

const cases = [];
export const test = (name, run) => cases.push({ name, run });

export const browser = await chromium.launch({ executablePath: setup.chromium, args: ['--no-sandbox'] });

// open returns a page that sends no requests to other machines.
export async function open(url) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ignoreHTTPSErrors: true });
  await context.route((u) => u.hostname !== '127.0.0.1', (route) => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(120_000); // a browser beside all other tests is slow
  page.broken = [];
  page.open = new Set(); // requests without an answer
  page.failed = []; // and those that failed
  page.on('request', (r) => page.open.add(r));
  page.on('requestfinished', (r) => page.open.delete(r));
  page.on('requestfailed', (r) => {
    page.open.delete(r);
    if (new URL(r.url()).hostname === '127.0.0.1') page.failed.push(`${r.failure()?.errorText} ${r.url()}`);
  });
  // A remote script that was not loaded is reported as an Event, not an Error.
  page.on('pageerror', (e) => String(e) === 'Event' || page.broken.push(String(e)));
  page.on('response', (r) => {
    if (r.status() >= 400 && !expected(r)) page.broken.push(`${r.status()} ${r.request().method()} ${r.url()}`);
  });
  await page.goto(url);
  return page;
}

// There is no automation service, there are no balances, plans and organisations, and a new
// user has no settings. A program that waits to be signed in is answered 400 (RFC 8628).
const expected = (r) => r.status() === 400 && r.url().endsWith('/oauth/device/token') || r.status() === 404 && /\/api\/automation\/|\/api\/llm\/balance|PLAN\.md|\/api\/organizations$|\/api\/v1\/settings$/.test(r.url());

export const page = await open(setup.page);
export const t = (id) => page.getByTestId(id);

export async function send(text) {
  await t('chat-input').click();
  await page.keyboard.insertText(text);
  await t('submit-button').click();
}

// settled waits until nothing moves any more.
const settled = () => page.waitForFunction(() => document.getAnimations().every((a) => !(a instanceof CSSTransition)));

// panel opens the right panel of a conversation at a tab; a reload closes it.
export async function panel(tab) {
  const header = t('tabs-pane-header');
  await header.waitFor({ state: 'attached' });
  await settled(); // a panel that opens is not where it will be
  const box = await header.boundingBox();
  if (!box || box.width < 100 || box.x + 100 > page.viewportSize().width) await t('right-panel-toggle').click();
  await settled();
  // Clicking on the active tab would close the panel.
  const button = t(`conversation-tab-${tab}`);
  if ((await button.getAttribute('class')).includes('bg-transparent')) await button.click();
}

// shows waits until text is visible.
export const shows = (text, where = page) => where.getByText(text).first().waitFor();

export const said = (text) => t('agent-message').filter({ hasText: text }).last().waitFor();

// state describes the page for the report of a case that failed.
async function state() {
  const text = await page.locator('body').innerText({ timeout: 5_000 }).catch(String);
  const open = [...page.open].map((r) => `${r.method()} ${r.url()}`);
  return `${page.url()}\nwithout an answer: ${open.join(', ') || 'nothing'}\nfailed last: ${page.failed.slice(-10).join(', ') || 'nothing'}\nthe page says: ${text.slice(0, 2_000)}`;
}

export const shot = (name, p = page) => p.screenshot({ path: join(setup.shots, `${name.replace(/\W+/g, '-')}.png`) }).catch(() => null);

const limit = (run) => new Promise((done, fail) => {
  const timer = setTimeout(() => fail(new Error('not done after 400 s')), 400_000);
  Promise.resolve().then(run).then(done, fail).finally(() => clearTimeout(timer));
});

// go runs the cases in order: each continues where the one before ended.
export async function go() {
  mkdirSync(setup.shots, { recursive: true });
  for (const [i, { name, run }] of cases.entries()) {
    const start = performance.now();
    let error = await limit(run).then(() => null, (e) => e ?? new Error('no reason'));
    await shot(`${String(i + 1).padStart(2, '0')} ${name}`);
    if (page.broken.length) error = new Error(`${error?.stack ?? ''}\nthe page reported: ${page.broken.splice(0).join('\n')}`);
    const seconds = Math.round(performance.now() - start) / 1000;
    console.log(JSON.stringify({ name, ok: !error, seconds, error: error ? `${error.stack}\n${await state()}` : '' }));
  }
  await browser.close();
}
