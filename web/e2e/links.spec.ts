// Links to events, and what a search finds: a window around the event, wherever it is.
import type { Page } from '@playwright/test';
import { clean } from './axe';
import { expect, finish, log, looks, panel, run, shot, status, task, test, type Deft } from './deft';

const id = (n: number) => `aaaaaaaa-0000-4000-8000-${String(n).padStart(12, '0')}`;
const parent = (n: number) => (n === 0 ? '__root__' : id(n));
const base = (n: number) => ({ id: id(n), timestamp: new Date(Date.UTC(2026, 0, 2) + n * 1000).toISOString().slice(0, 23) });
const said = (n: number, text: string, behind = n - 1) => ({
  ...base(n),
  kind: 'MessageEvent',
  source: 'user',
  parent_id: parent(behind),
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
});
const called = (n: number, command: string) => ({
  ...base(n),
  kind: 'ActionEvent',
  source: 'agent',
  parent_id: parent(n - 1),
  thought: [],
  action: { kind: 'TerminalAction', command },
  tool_name: 'terminal',
  tool_call_id: `call-${n}`,
  tool_call: { id: `call-${n}`, name: 'terminal', arguments: JSON.stringify({ command }), origin: 'completion' },
  llm_response_id: `response-${n}`,
});
const printed = (n: number, of: number, text: string) => ({
  ...base(n),
  kind: 'ObservationEvent',
  source: 'environment',
  parent_id: parent(n - 1),
  tool_name: 'terminal',
  tool_call_id: `call-${of}`,
  action_id: id(of),
  observation: { kind: 'TerminalObservation', command: 'x', content: [{ type: 'text', text }], is_error: false, exit_code: 0 },
});
const rewound = (n: number, to: number) => ({ ...base(n), kind: 'ConversationStateUpdateEvent', source: 'environment', parent_id: parent(n - 1), key: 'leaf_event_id', value: id(to) });

// long are messages whose texts are their numbers.
const long = (count: number, from = 1) => Array.from({ length: count }, (_, i) => said(from + i, `Message ${from + i}.`));

// recorded stores events as a conversation of the user, and returns its address.
async function recorded(deft: Deft, page: Page, events: unknown[]): Promise<string> {
  await deft.script([]);
  await deft.serve();
  await deft.signIn(page);
  const answer = await page.request.post(`${deft.url}/api/v1/app-conversations/import?title=Long`, {
    headers: { Origin: deft.url, 'Content-Type': 'application/json' },
    data: JSON.stringify(events),
  });
  expect(answer.ok(), await answer.text()).toBe(true);
  return `${deft.url}/conversations/${((await answer.json()) as { id: string }).id}`;
}

// requests counts the questions for events since the call before.
function requests(page: Page): () => number {
  let n = 0;
  page.on('request', (request) => {
    if (/\/(events|shared-events)\/(search|place)/.test(request.url())) n++;
  });
  return () => {
    const before = n;
    n = 0;
    return before;
  };
}

const target = (page: Page) => log(page).locator('.timeline-row.target');
const newest = (page: Page) => page.getByRole('button', { name: 'Jump to the newest event' });

async function shows(page: Page, text: string): Promise<void> {
  await expect(target(page)).toContainText(text);
  await expect(target(page)).toBeInViewport();
}

// numbers are the numbers of the drawn messages.
const numbers = (page: Page) =>
  log(page)
    .locator('.message.user')
    .evaluateAll((rows) => rows.flatMap((row) => /Message (\d+)\./.exec(row.textContent)?.[1] ?? []).map(Number));

// read scrolls to an end of the conversation, and returns the numbers on the way, each once, in order.
async function read(page: Page, direction: 'up' | 'down', last: number): Promise<number[]> {
  const seen = new Set<number>();
  await expect(async () => {
    await page.locator('.timeline-list').evaluate(
      (list, up) =>
        new Promise<void>((done) => {
          list.scrollTop += (up ? -1 : 1) * list.clientHeight * 0.8;
          const frames = (left: number) => (left > 0 ? requestAnimationFrame(() => frames(left - 1)) : done());
          frames(3); // the rows there are drawn by then
        }),
      direction === 'up',
    );
    const now = await numbers(page);
    expect(now.toSorted((a, b) => a - b)).toEqual(now); // in order
    expect(new Set(now).size).toBe(now.length); // each once
    now.forEach((n) => seen.add(n));
    expect(seen).toContain(last);
  }).toPass({ intervals: [20] });
  return [...seen].sort((a, b) => a - b);
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('a link to an early event of a long conversation shows it at once, and reading goes on to both ends', async ({ deft, page }) => {
  const address = await recorded(deft, page, long(1500));
  const asked = requests(page);
  await page.goto(`${address}?event=${id(700)}`);
  await shows(page, 'Message 700.');
  expect(asked()).toBeLessThan(8); // the newest ones, both directions, and what was undone
  await expect(log(page).getByText('Message 1500.')).toHaveCount(0);
  await expect(newest(page)).toBeVisible();
  await clean(page, 'a window of a conversation');
  await looks(page, 'link-window');

  const down = await read(page, 'down', 1500);
  expect(down).toEqual(range(down[0] ?? 0, 1500));
  await expect(newest(page)).toBeHidden();
  const up = await read(page, 'up', 1);
  expect(up).toEqual(range(1, up.at(-1) ?? 0));
  expect(up.at(-1)).toBeGreaterThan(1400);
});

test('who reads early events jumps to the newest one, and back by the browser', async ({ deft, page }) => {
  const address = await recorded(deft, page, long(900));
  await page.goto(address);
  await expect(log(page).getByText('Message 900.')).toBeInViewport();
  const follow = (n: number) =>
    page.evaluate((url) => {
      history.pushState(null, '', url); // as a link in the page does
    }, `${address}?event=${id(n)}`);
  await follow(100);
  await shows(page, 'Message 100.');
  await follow(850); // which is among the newest ones
  await shows(page, 'Message 850.');
  await page.goBack();
  await shows(page, 'Message 100.');
  await page.goBack();
  await expect(log(page).getByText('Message 900.')).toBeInViewport();
  await expect(target(page)).toHaveCount(0);
  await page.goForward();
  await shows(page, 'Message 100.');
  await newest(page).click();
  await expect(log(page).getByText('Message 900.')).toBeInViewport();
  await expect(page).toHaveURL(address); // a reload stays there
  await expect(newest(page)).toBeHidden();
  const up = await read(page, 'up', 700); // older windows of the newest ones
  expect(up).toEqual(range(up[0] ?? 0, up.at(-1) ?? 0));
});

test('a link to an event that is not there says so, and shows the newest ones', async ({ deft, page }) => {
  const address = await recorded(deft, page, long(900));
  const asked = requests(page);
  await page.goto(`${address}?event=${id(5000)}`);
  await expect(log(page).getByText('Message 900.')).toBeInViewport();
  const notice = page.getByText('The event of this link is not in this conversation.');
  await expect(notice).toBeVisible();
  expect(asked()).toBeLessThan(9); // not all pages, however many the list wants above the newest ones
  await clean(page, 'a link to an event that is not there');
  await looks(page, 'link-missed');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await expect(notice).toBeHidden();
});

test('a link to an event that was undone opens it among the others of its branch', async ({ deft, page }) => {
  // 101 to 140 were undone, far from the end, and 561 to 580 near it.
  const events = [...long(140), rewound(141, 100), said(142, 'Message 142.', 100), ...long(438, 143), rewound(581, 560), said(582, 'Message 582.', 560), ...long(8, 583)];
  const address = await recorded(deft, page, events);
  for (const n of [103, 563]) {
    await page.goto(`${address}?event=${id(n)}`);
    await shows(page, `Message ${n}.`);
    await expect(target(page)).toHaveClass(/undone/);
    await expect(log(page).getByRole('button', { name: /^Undone: \d+ lines of another branch/ })).toHaveAttribute('aria-expanded', 'true');
    await shot(page, `link-undone-${n}`);
  }
  await page.goto(`${address}?event=${id(143)}`);
  await shows(page, 'Message 143.');
  await expect(target(page)).not.toHaveClass(/undone/);
  await expect(log(page).getByRole('button', { name: 'Undone: 40 lines of another branch' })).toHaveAttribute('aria-expanded', 'false');
  const down = await read(page, 'down', 590);
  expect(down.filter((n) => n >= 160)).toEqual([...range(160, 560), ...range(582, 590)]);
});

// work is a turn of four commands; the output of the second is long.
const work = (at: number, word: string) => [
  said(at, `Message ${at}.`),
  called(at + 1, 'echo one'),
  printed(at + 2, at + 1, 'one'),
  called(at + 3, 'cat words.txt'),
  printed(at + 4, at + 3, `${'hay and straw\n'.repeat(900)}here is the ${word}, you see\n${'hay and straw\n'.repeat(2500)}`),
  called(at + 5, 'echo three'),
  printed(at + 6, at + 5, 'three'),
  called(at + 7, 'echo four'),
  printed(at + 8, at + 7, 'four'),
];

test('a link to the result of an action opens its row, within a group that is folded', async ({ deft, page }) => {
  const address = await recorded(deft, page, [...long(300), ...work(301, 'needle'), ...long(400, 310)]);
  await page.goto(`${address}?event=${id(306)}`);
  await shows(page, 'echo three');
  await expect(target(page).getByRole('group', { name: 'Output' })).toHaveText('three');
  await clean(page, 'the row of a link');
  await looks(page, 'link-action');
});

// marked are the texts of a search that are marked and in view.
const marked = (page: Page) =>
  page.evaluate(() => {
    const all = [...(CSS.highlights.get('found') ?? [])] as Range[];
    const inside = (range: Range) => {
      const at = range.getBoundingClientRect();
      for (let box = range.startContainer.parentElement; box; box = box.parentElement) {
        if (getComputedStyle(box).overflowY === 'visible') continue;
        const around = box.getBoundingClientRect();
        if (at.top < around.top - 1 || at.bottom > around.bottom + 1) return false;
      }
      return true;
    };
    return all.filter(inside).map(String);
  });

test('a search shows the word in its context, marks it in its row, and opens that', async ({ deft, page }) => {
  const address = await recorded(deft, page, [...long(300), ...work(301, 'Needle'), ...long(400, 310), said(710, 'The last needle.')]);
  await page.goto(address);
  await expect(log(page).getByText('The last needle.')).toBeInViewport();
  await page.keyboard.press('Control+f');
  const asked = requests(page);
  await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('needle');
  await expect(page.getByText('1 of 2')).toBeVisible();
  await shows(page, 'The last needle.');
  await expect.poll(() => marked(page)).toEqual(['needle']);
  await page.keyboard.press('Enter');
  await expect(page.getByText('2 of 2')).toBeVisible();
  const excerpt = page.getByRole('search').locator('.find-excerpt');
  await expect(excerpt).toContainText('here is the Needle, you see');
  await expect(excerpt.locator('mark')).toHaveText('Needle');
  await shows(page, 'cat words.txt');
  await expect(target(page).getByRole('button', { name: /words.txt/ })).toHaveAttribute('aria-expanded', 'true');
  await expect.poll(() => marked(page)).toEqual(['Needle']);
  expect(asked()).toBeLessThan(6); // the search, and a window
  await clean(page, 'a word that was found');
  await looks(page, 'found-output');

  await page.keyboard.press('Enter'); // round to the newest one
  await shows(page, 'The last needle.');
  await page.keyboard.press('Escape');
  await expect(target(page)).toHaveCount(0);
  expect(await page.evaluate(() => CSS.highlights.has('found'))).toBe(false);
});

test('what happens while early events are read is there at the newest one, and moves nothing', async ({ deft, page }) => {
  const thoughts = (from: number) => ({ reply: { tool_calls: range(from, from + 119).map((n) => ({ name: 'think', arguments: { thought: `Thought ${n}.` } })) } });
  await task(deft, page, [thoughts(1), thoughts(121), finish('All is thought.'), { reply: { tool_calls: [run('until [ -e go ]; do sleep 0.1; done')] } }, finish('Now it is done.')], 'Think');
  await expect(status(page, 'Finished')).toBeVisible();
  await expect(log(page).getByText('All is thought.')).toBeVisible();
  const first = await (await page.request.get(`${deft.url}/api/v1/conversation/${/conversations\/([^/?#]+)/.exec(page.url())?.[1]}/events/search?kind__eq=ActionEvent&limit=30`)).json();
  const events = (first as { items: { id: string }[] }).items;
  await page.getByRole('textbox', { name: 'Message' }).fill('Wait');
  await page.keyboard.press('Control+Enter');
  await expect(status(page, 'Working')).toBeVisible();
  const address = page.url();
  await page.goto(`${address}?event=${events[20]?.id}`);
  await shows(page, 'Thought 21.');
  await expect(status(page, 'Working')).toBeVisible(); // which comes live
  await expect(log(page).getByText('Thinking …')).toHaveCount(0);
  const at = await target(page).boundingBox();
  const other = await page.context().newPage();
  await other.goto(`${address}/terminal`);
  await expect(other.locator('.xterm')).toBeVisible();
  await other.locator('.xterm-helper-textarea').pressSequentially('touch go\n');
  await expect(status(page, 'Finished')).toBeVisible();
  expect(await target(page).boundingBox()).toEqual(at);
  await expect(log(page).getByText('Now it is done.')).toHaveCount(0);
  await newest(page).click();
  await expect(log(page).getByText('Now it is done.')).toBeInViewport();
});

test('a link to an event of a shared conversation shows it without a sign-in', async ({ deft, page, browser }) => {
  const address = await recorded(deft, page, long(900));
  const conversation = address.split('/').at(-1);
  const shared = await page.request.patch(`${deft.url}/api/v1/app-conversations/${conversation}`, { headers: { Origin: deft.url }, data: { public: true } });
  expect(shared.ok(), await shared.text()).toBe(true);
  const stranger = await (await browser.newContext()).newPage();
  const asked = requests(stranger);
  await stranger.goto(`${deft.url}/shared/${conversation}?event=${id(300)}`);
  await shows(stranger, 'Message 300.');
  expect(asked()).toBeLessThan(8);
  await clean(stranger, 'a link into a shared conversation');
  await looks(stranger, 'link-shared');
  const down = await read(stranger, 'down', 900);
  expect(down).toEqual(range(down[0] ?? 0, 900));
  await stranger.goto(`${deft.url}/shared/${conversation}?event=${id(5000)}`);
  await expect(stranger.getByText('The event of this link is not in this conversation.')).toBeVisible();
  await expect(log(stranger).getByText('Message 900.')).toBeInViewport();
  await stranger.goto(`${deft.url}/shared/${conversation}`);
  await expect(log(stranger).getByText('Message 900.')).toBeInViewport();
  await stranger.context().close();
});

test('the panel of raw events has the events that the conversation shows', async ({ deft, page }) => {
  const address = await recorded(deft, page, long(900));
  await page.goto(`${address}?event=${id(300)}`);
  await shows(page, 'Message 300.');
  await panel(page, 'Events').click();
  await page.getByRole('searchbox', { name: 'Filter events' }).fill('Message 300.');
  await page.locator('.raw-event').getByRole('button').click();
  await expect(page.locator('.raw-event pre')).toContainText(id(300));
  await page.reload(); // the address names the event
  await expect(page.locator('.raw-event pre')).toContainText(id(300));
});
