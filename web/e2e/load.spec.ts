// The first load, and the parts that come later.
import { expect, finish, log, task, test } from './deft';

test('the frame of the page is there before its scripts, and each first question is asked once', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  await page.goto('about:blank'); // nothing of the page before is counted

  const asked: string[] = [];
  const scripts: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/api/')) asked.push(pathname + search);
    if (request.resourceType() === 'script') scripts.push(pathname);
  });
  let go = () => {};
  const held = new Promise<void>((done) => (go = done));
  await page.route(/\/assets\/index-.*\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(deft.url, { waitUntil: 'commit' });
  await expect(page.locator('.brand')).toBeVisible();
  // Its questions do not wait for the script either.
  await expect.poll(() => asked.filter((path) => path.endsWith('/settings')).length).toBe(1);
  await expect(page.getByRole('textbox', { name: 'Task' })).toHaveCount(0);
  const before = [...asked].sort();
  expect(before).toEqual(['/api/v1/app-conversations/count', '/api/v1/app-conversations/search?limit=50', '/api/v1/settings']);
  go();
  await expect(page.getByRole('textbox', { name: 'Task' })).toBeFocused();
  expect(asked.filter((path) => path.endsWith('/count'))).toHaveLength(1);
  // The code of conversations comes when the page is there, the code of terminals when one is opened.
  await expect.poll(() => scripts.filter((path) => path.includes('/conversation-')).length).toBe(1);
  expect(scripts.filter((path) => /Terminal|PdfView|DiffView|Settings/.test(path))).toEqual([]);
});

test('the first paint waits for no question', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  await page.addInitScript(() => {
    const asked: boolean[] = [];
    const ask = window.fetch;
    window.fetch = (...question) => {
      asked.push(document.currentScript !== null); // a script that runs before the paint asks
      return ask(...question);
    };
    Object.assign(window, { asked });
  });
  await page.goto(deft.url);
  await expect(page.getByRole('textbox', { name: 'Task' })).toBeFocused();
  const asked = await page.evaluate(() => (window as unknown as { asked: boolean[] }).asked);
  expect(asked.length).toBeGreaterThan(2);
  expect(asked).not.toContain(true);
});

const ofEvents = (path: string) => path.endsWith('/events/search');

test('the code and the events of a conversation are asked for together with the code of the page', async ({ deft, page }) => {
  await task(deft, page, [finish('All is done.')], 'Do it');
  await expect(log(page)).toContainText('All is done.');
  const asked: string[] = [];
  const scripts: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    asked.push(pathname);
    if (request.resourceType() === 'script') scripts.push(pathname);
  });
  let go = () => {};
  const held = new Promise<void>((done) => (go = done));
  await page.route(/\/assets\/index-.*\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(page.url(), { waitUntil: 'commit' });
  await expect.poll(() => asked.filter((path) => path.includes('/assets/conversation-')).length).toBe(2); // script and styles
  await expect.poll(() => asked.includes('/api/v1/app-conversations')).toBe(true);
  await expect.poll(() => asked.filter(ofEvents).length).toBe(1); // the newest events
  const early = [...scripts];
  go();
  await expect(log(page)).toContainText('All is done.');
  expect(asked.filter(ofEvents)).toHaveLength(1);
  expect(scripts).toEqual(early); // no script is asked for by another
});

test('a script that cannot be loaded is asked for again', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  let failed = 0;
  await page.route(/\/assets\/[Ss]ettings.*\.js$/, (route) => (failed++ < 2 ? route.abort('connectionreset') : route.continue()));
  await page.goto(`${deft.url}/settings`);
  await expect(page.getByRole('heading', { name: 'Settings' })).toBeVisible();
  expect(failed).toBe(3);
});

test('a conversation that takes long to load says so', async ({ deft, page }) => {
  await task(deft, page, [finish('All is done.')], 'Do it');
  await expect(log(page)).toContainText('All is done.');
  await page.goto(deft.url);
  let go = () => {};
  const held = new Promise<void>((done) => (go = done));
  await page.route(/\/api\/v1\/app-conversations\?/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('navigation', { name: 'Conversations' }).getByRole('link', { name: /A short title/ }).click();
  await expect(page.getByRole('main').getByText('Loading …')).toBeVisible();
  go();
  await expect(log(page)).toContainText('All is done.');
  await expect(page.getByText('Loading …')).toHaveCount(0);
});

test('a menu that was opened while the events come stays open', async ({ deft, page }) => {
  await task(deft, page, [finish('All is done.')], 'Do it');
  await expect(log(page).getByText('All is done.')).toBeVisible();
  let go = () => {};
  const held = new Promise<void>((done) => (go = done));
  await page.route('**/events/search?*', async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  go();
  await expect(log(page).getByText('All is done.')).toBeVisible();
  await expect(page.getByRole('menuitem', { name: 'Pause the sandbox' })).toBeVisible();
});
