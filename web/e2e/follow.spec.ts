// Where the chat is while it grows, wraps anew and is read.
import type { Page } from '@playwright/test';
import { expect, finish, log, panel, run, send, status, task, test, type Deft, type Turn } from './deft';
import { startGate } from './gate';

const text = 'A paragraph that takes more lines the less room there is for it. '.repeat(12);
const list = (page: Page) => page.locator('.timeline-list');
const jump = (page: Page) => page.getByRole('button', { name: 'Jump to the newest event' });
const end = (page: Page) => log(page).getByText('The very end.');

// painted waits for frames: a change of size is answered within a few.
const painted = (page: Page, frames = 5) =>
  page.evaluate(
    (frames) =>
      new Promise<void>((done) => {
        const next = (left: number) => (left > 0 ? requestAnimationFrame(() => next(left - 1)) : done());
        next(frames);
      }),
    frames,
  );

// rest is how far the start of the chat is above its view, once it does not move.
const rest = (page: Page) =>
  list(page).evaluate(
    (l) =>
      new Promise<number>((done) => {
        const look = (place: number, frames: number) => (frames === 0 ? done(place) : requestAnimationFrame(() => (l.scrollTop === place ? look(place, frames - 1) : look(l.scrollTop, 15))));
        look(l.scrollTop, 15);
      }),
  );

// told has run to its end, which is in view.
async function told(deft: Deft, page: Page): Promise<void> {
  const turns: Turn[] = Array.from({ length: 6 }, (_, i) => ({ reply: { text: `${i}. ${text}\n\n${text}`, tool_calls: [run(`seq ${i + 1}01 ${i + 1}60`)] } }));
  await task(deft, page, [...turns, finish('The very end.')], 'Tell much');
  await expect(status(page, 'Finished')).toBeVisible();
  await expect(end(page)).toBeInViewport();
}

async function atEnd(page: Page): Promise<void> {
  await painted(page);
  await expect(end(page)).toBeInViewport({ ratio: 1 });
  await expect(jump(page)).toBeHidden();
}

test('the end stays in view when a panel opens or closes, and when the window changes', async ({ deft, page }) => {
  await told(deft, page);
  for (const name of ['Usage', 'Events', 'Changes']) {
    await panel(page, name).click();
    await expect(page.locator('aside.panel')).toBeVisible();
    await atEnd(page);
    await page.getByRole('button', { name: 'Close the panel' }).click();
    await expect(page.locator('aside.panel')).toBeHidden();
    await atEnd(page);
  }
  for (const size of [{ width: 900, height: 600 }, { width: 390, height: 844 }, { width: 1280, height: 800 }]) {
    await page.setViewportSize(size);
    await atEnd(page);
  }
});

test('what the user scrolled to stays when a panel opens, and a jump follows the end again', async ({ deft, page }) => {
  await told(deft, page);
  await list(page).hover();
  await page.mouse.wheel(0, -700);
  await expect(jump(page)).toBeVisible();
  await panel(page, 'Usage').click();
  await expect(page.locator('aside.panel')).toBeVisible();
  await painted(page);
  await expect(jump(page)).toBeVisible();
  await expect(end(page)).not.toBeInViewport();
  await jump(page).click();
  await atEnd(page);
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await atEnd(page);
});

test('a row that the user opens stays where it was, whatever comes after it', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { reply: { text: `${text}\n\n${text}\n\n${text}\n\n${text}`, tool_calls: [run('seq 101 160')] } },
      { reply: { tool_calls: [run('until [ -e go ]; do sleep 0.1; done')] } },
      { reply: { text: `${text}\n\n${text}\n\n${text}`, tool_calls: [run('true')] } },
      finish('The very end.'),
    ],
    'Tell much',
  );
  await expect(log(page).getByRole('button', { name: /Run until/ })).toBeInViewport();
  await painted(page);
  const line = log(page).getByRole('button', { name: /Run seq/ });
  const top = async () => Math.round((await line.boundingBox())?.y ?? -1);
  const before = await top();
  await line.click();
  await expect(log(page).getByRole('group', { name: 'Output' })).toContainText('160');
  await painted(page);
  expect(await top()).toBe(before);
  await panel(page, 'Terminal').click();
  await page.locator('.terminal-view, .xterm').first().click();
  await page.keyboard.type('touch go\n');
  await expect(status(page, 'Finished')).toBeVisible();
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await painted(page);
  expect(await top()).toBe(before);
  await expect(jump(page)).toBeVisible();
});

test('a row at the end that is opened and closed leaves the end followed', async ({ deft, page }) => {
  await told(deft, page);
  const line = log(page).getByRole('button', { name: /Run seq 601/ });
  const top = async () => Math.round((await line.boundingBox())?.y ?? -1);
  const before = await top();
  await line.click();
  await expect(log(page).getByRole('group', { name: 'Output' })).toContainText('660');
  await painted(page);
  expect(await top()).toBe(before);
  await expect(jump(page)).toBeVisible();
  await line.click();
  await atEnd(page);
  await panel(page, 'Usage').click();
  await atEnd(page);
});

test('scrolling up right after a change of the size is not undone', async ({ deft, page }) => {
  await told(deft, page);
  await list(page).hover();
  await page.setViewportSize({ width: 900, height: 700 });
  await page.mouse.wheel(0, -500);
  await expect(jump(page)).toBeVisible();
  await rest(page);
  await painted(page, 30);
  await expect(jump(page)).toBeVisible();
  await expect(end(page)).not.toBeInViewport();
});

const words = Array.from({ length: 6000 }, (_, i) => `word${i}`).join(' ');
const stream: Turn[] = [{ reply: { text: words }, chunk_size: 12, chunk_delay: '10ms' }];

// distances of the end from view in frames, as they are painted: observers of the list
// later than the page does is told later.
const distances = (page: Page, frames: number) =>
  list(page).evaluate(
    (l, frames) =>
      new Promise<number[]>((done) => {
        const all: number[] = [];
        const look = () => {
          const observer = new ResizeObserver(() => {
            observer.disconnect();
            all.push(l.scrollHeight - l.clientHeight - l.scrollTop);
            if (all.length < frames) requestAnimationFrame(look);
            else done(all);
          });
          observer.observe(l);
        };
        requestAnimationFrame(look);
      }),
    frames,
  );

test('an answer that streams is followed; its reader leaves it by wheel, key or program, and comes back', async ({ deft, page }) => {
  await task(deft, page, stream, 'Write much');
  const draft = log(page).locator('.draft');
  await expect.poll(() => list(page).evaluate((l) => l.scrollHeight - l.clientHeight)).toBeGreaterThan(600);
  expect(Math.max(...(await distances(page, 40)))).toBeLessThanOrEqual(1);
  await list(page).hover();
  const ways: (() => Promise<unknown>)[] = [
    () => page.mouse.wheel(0, -20),
    () => list(page).press('PageUp'),
    () => list(page).evaluate((l) => l.scrollBy(0, -100)),
  ];
  for (const leave of ways) {
    await leave();
    const place = await rest(page);
    const length = (await draft.textContent())?.length ?? 0;
    await expect.poll(async () => (await draft.textContent())?.length ?? 0).toBeGreaterThan(length + 300);
    expect(Math.abs((await list(page).evaluate((l) => l.scrollTop)) - place)).toBeLessThanOrEqual(1);
    await expect(jump(page)).toBeVisible();
    await page.mouse.wheel(0, 20_000);
    await expect(jump(page)).toBeHidden();
    expect(Math.max(...(await distances(page, 10)))).toBeLessThanOrEqual(1);
  }
  await expect(draft, 'the answer ended before the last look').toBeVisible();
});

test('text that is selected while an answer still fits the page stays in view', async ({ deft, page }) => {
  const gate = await startGate(await deft.script([{ reply: { text: words }, chunk_size: 100 }]), 'word0');
  deft.model = gate.url;
  await deft.serve();
  await deft.open(page);
  await send(page, 'Write much');
  gate.pass(3);
  await expect(log(page).locator('.draft')).toContainText('word1');
  const sent = log(page).getByText('Write much');
  await sent.evaluate((text) => getSelection()?.selectAllChildren(text));
  gate.open();
  await expect(jump(page)).toBeVisible();
  await expect(sent).toBeInViewport();
  expect(await list(page).evaluate((l) => l.scrollTop)).toBe(0);
  await jump(page).click(); // the selection is still there
  expect(Math.max(...(await distances(page, 10)))).toBeLessThanOrEqual(1);
  gate.close();
});

test('a row of an answer that streams can be pointed at', async ({ deft, page }) => {
  await task(deft, page, stream, 'Write much');
  await expect.poll(() => list(page).evaluate((l) => l.scrollHeight - l.clientHeight)).toBeGreaterThan(600);
  const draft = log(page).locator('.draft');
  const hit = await draft.evaluate((d) => {
    const box = d.getBoundingClientRect();
    return d.contains(document.elementFromPoint(box.x + 20, Math.min(box.bottom, window.innerHeight - 200) - 10));
  });
  expect(hit).toBe(true);
});

test('who sends a message sees what comes of it', async ({ deft, page }) => {
  await task(deft, page, [{ reply: { text: `${text}\n\n`.repeat(8) } }, { reply: { text: `${text}\n\nThe very end.` } }], 'Tell much');
  await expect(status(page, 'Finished')).toBeVisible();
  await list(page).hover();
  await page.mouse.wheel(0, -700);
  await expect(jump(page)).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('And more');
  await page.keyboard.press('Enter');
  await expect(end(page)).toBeInViewport();
  await atEnd(page);
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

  test('the keyboard leaves the end in view, and a finger leaves it', async ({ deft, page }) => {
    await told(deft, page);
    await page.setViewportSize({ width: 390, height: 430 });
    await atEnd(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await atEnd(page);
    const session = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', y: number) => session.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x: 190, y }] });
    await touch('touchStart', 300);
    for (let y = 320; y <= 600; y += 20) await touch('touchMove', y);
    await touch('touchEnd', 600);
    await expect(jump(page)).toBeVisible();
    await page.setViewportSize({ width: 390, height: 430 });
    await painted(page);
    await expect(end(page)).not.toBeInViewport();
  });
});
