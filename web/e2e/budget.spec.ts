// Measures the budgets of the page: DEFT_BUDGET=1 prints them, beside what a page with nothing
// but a text box needs on the same machine. Nothing is asserted, as the numbers depend on that.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from '@playwright/test';
import { expect, finish, status, test, type Turn } from './deft';

test.skip(!process.env.DEFT_BUDGET, 'DEFT_BUDGET is not set');

// once says when a page has what is looked for, and when it was first painted.
const once = (page: Page, what: string) =>
  page.evaluate(
    (what) =>
      new Promise<{ first: number; there: number }>((done) => {
        const look = () => {
          if (!(what === '' ? document.querySelector('textarea') : document.body?.innerText.includes(what))) return requestAnimationFrame(look);
          const there = performance.now();
          const wait = () => {
            const first = performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
            if (first === undefined) requestAnimationFrame(wait);
            else done({ first, there });
          };
          wait();
        };
        look();
      }),
    what,
  );

// bare serves a page with a text box and nothing else, not through Playwright, which would delay
// what it serves by itself.
async function bare(): Promise<{ url: string; end: () => void }> {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>Bare</title><p>Bare</p><textarea aria-label="Message"></textarea>');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end: () => server.close() };
}

// cold opens addresses in turns, each time in a browser without anything in its cache, and prints
// medians: times of the wall, the work of the main thread, requests and bytes.
async function cold(page: Page, rounds: number, addresses: { what: string; url: string; text: string }[]): Promise<void> {
  const state = await page.context().storageState();
  const all = addresses.map(() => [] as Record<'first' | 'there' | 'work' | 'requests' | 'bytes', number>[]);
  for (let i = 0; i < rounds; i++) {
    for (const [n, { url, text }] of addresses.entries()) {
      const context = await page.context().browser()?.newContext({ storageState: state });
      if (!context) throw new Error('there is no browser');
      const one = await context.newPage();
      const used = await processor(one);
      await one.goto(url, { waitUntil: 'commit' });
      const times = await once(one, text);
      const work = await used();
      const loaded = await one.evaluate(() =>
        (performance.getEntries().filter((e) => e.entryType === 'navigation' || e.entryType === 'resource') as PerformanceResourceTiming[]).map((e) => e.transferSize),
      );
      all[n]?.push({ ...times, work, requests: loaded.length, bytes: loaded.reduce((sum, size) => sum + size, 0) });
      await context.close();
    }
  }
  for (const [n, { what }] of addresses.entries()) {
    const of = (name: 'first' | 'there' | 'work' | 'requests' | 'bytes') => median((all[n] ?? []).map((one) => one[name]));
    console.log(
      `${what}: first contentful paint ${of('first')} ms, ready ${of('there')} ms, ${of('work')} ms of work, ${of('requests')} requests, ${Math.round(of('bytes') / 1024)} KiB (medians of ${rounds}, cold, loopback)`,
    );
  }
}

const median = (all: number[]) => Math.round(all.toSorted((a, b) => a - b)[all.length >> 1] ?? 0);

// processor counts what the main thread of the page works, which depends less on what else
// the machine does than times of the wall. It returns the milliseconds since the call before.
async function processor(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const now = async () => ((await session.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration')?.value ?? 0) * 1000;
  let last = await now();
  return async () => {
    const before = last;
    last = await now();
    return last - before;
  };
}

test('first load', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page);
  const { url, end } = await bare();
  await cold(page, Number(process.env.DEFT_BUDGET_OPENINGS ?? 15), [
    { what: 'a bare page', url, text: '' },
    { what: 'the page', url: deft.url, text: '' },
  ]);
  end();
});

test('a conversation of 50,000 events', async ({ deft, page, context }) => {
  test.setTimeout(600_000);
  const rounds = Number(process.env.DEFT_BUDGET_ROUNDS ?? 50);
  const thoughts = Array.from({ length: 500 }, (_, i) => ({ name: 'think', arguments: { thought: `Thought ${i} of this round: nothing to do but to be counted.` } }));
  const turns: Turn[] = Array.from({ length: rounds }, () => ({ reply: { tool_calls: thoughts } }));
  await deft.script([...turns, finish('All is thought.')]);
  await deft.serve();
  await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url: deft.model, api_key: 'k' }, condenser: { enabled: false } } });
  await page.getByRole('textbox', { name: 'Task' }).fill('Think');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  const url = page.url();
  await page.close();
  const [other] = [await context.newPage()];
  const list = async () => (await (await other.request.get(`${deft.url}/api/v1/app-conversations/search`)).json()).items[0];
  await expect.poll(async () => (await list()).execution_status, { timeout: 500_000, intervals: [1000] }).toBe('finished');
  const count = await (await other.request.get(`${deft.url}/api/v1/conversation/${(await list()).id}/events/count`)).json();

  const early = (await (await other.request.get(`${deft.url}/api/v1/conversation/${(await list()).id}/events/search?limit=100`)).json()) as { items: { id: string; kind: string }[] };
  const event = early.items.findLast((e) => e.kind === 'ActionEvent')?.id;
  const plain = await bare();
  await cold(other, Number(process.env.DEFT_BUDGET_OPENINGS ?? 15), [
    { what: 'a bare page', url: plain.url, text: '' },
    { what: `a conversation of ${count} events, to its last message`, url, text: 'All is thought.' },
    { what: 'a link to one of its first events', url: `${url}?event=${event}`, text: 'Thought 90 of this round' },
  ]);
  plain.end();
  await other.goto(url);

  // Load all windows, as a user does who scrolls up to the first event.
  await expect(status(other, 'Finished')).toBeVisible();
  const began = Date.now();
  await other.locator('.timeline-list').evaluate(
    (list) =>
      new Promise<void>((done) => {
        const up = () => {
          if (document.querySelector('.message.user')) return done();
          list.scrollTop = 0;
          setTimeout(up, 10);
        };
        up();
      }),
  );
  const session = await context.newCDPSession(other);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  console.log(`all events loaded by scrolling in ${((Date.now() - began) / 1000).toFixed(1)} s; heap of the tab ${(usedSize / (1 << 20)).toFixed(0)} MB`);

  const box = other.getByRole('textbox', { name: 'Message' });
  await box.focus();
  const times: number[] = [];
  for (const key of 'a message while all of it is loaded') {
    const start = Date.now();
    await box.press(key === ' ' ? 'Space' : key);
    times.push(Date.now() - start);
  }
  console.log(`a key press takes ${median(times)} ms, with the way through the debugger`);
});

test('typing while 200 events arrive each second', async ({ deft, page, context }) => {
  const words = Array.from({ length: 5000 }, (_, i) => `w${i % 10}`).join(' '); // 15,000 characters
  await deft.script([{ reply: { text: words }, chunk_size: 3, chunk_delay: '5ms' }]);
  await deft.serve();
  await deft.open(page);
  const plain = await bare();
  const empty = await context.newPage();
  await empty.goto(plain.url);
  await type(empty, 'a bare page');
  await empty.close();
  plain.end();

  await page.getByRole('textbox', { name: 'Task' }).fill('Write much');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(page.locator('.draft')).toBeVisible();
  await type(page, 'while the answer streams');
  await expect(page.locator('.draft'), 'the answer ended before the last key').toBeVisible();
});

// type measures how long keys take from when they were pressed to the end of the frame that
// shows them. Frames come each 17 ms, so that a key waits for 8 ms on average for its own.
async function type(page: Page, where: string): Promise<void> {
  await page.evaluate(() => {
    const seen = { keys: [] as number[], changes: 0 };
    Object.assign(window, { seen });
    window.addEventListener(
      'keydown',
      (e) =>
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => seen.keys.push(performance.now() - e.timeStamp);
          port2.postMessage(null);
        }),
      true,
    );
    new MutationObserver(() => seen.changes++).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const box = page.getByRole('textbox', { name: 'Message' });
  await box.focus();
  const used = await processor(page);
  const p95 = (all: number[]) => Math.round(all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.95)] ?? 0);
  // Where the next key comes within the frame of one, it waits for another.
  for (const [who, pause] of [['a fast typist, 10 keys a second', (i: number) => 40 + ((i * 37) % 100)], ['the debugger, key after key', () => 0]] as const) {
    await used();
    const began = Date.now();
    for (let i = 0; i < 60; i++) {
      await box.press('x');
      await page.waitForTimeout(pause(i));
    }
    const seconds = (Date.now() - began) / 1000;
    const busy = (await used()) / seconds;
    const { keys, changes } = await page.evaluate(() => {
      const { seen } = window as unknown as { seen: { keys: number[]; changes: number } };
      return { keys: seen.keys.splice(0), changes: seen.changes - (seen.changes = 0) };
    });
    console.log(
      `typing, ${where} (${who}): a key is shown after ${median(keys)} ms, 95 % ${p95(keys)} ms; ${(changes / seconds).toFixed(0)} other changes and ${busy.toFixed(0)} ms of work a second`,
    );
  }
}
