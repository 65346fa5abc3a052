// When the page draws new events: often enough to be read, and between the keys of a user
// who types.

// Milliseconds. People read an answer and do not watch it: some drawings a second are enough.
const together = 16; // events within this time are drawn together
const reading = 60; // between two drawings
const typing = 200; // and while the user types
const hidden = 200; // a page in the background
const shown = 24; // after this time a key has been shown,
const free = 12; // and for this time after that the next one is not near
const next = 100; // how long the next key is waited for

export interface Past {
  arrived: number; // when the first undrawn event arrived
  drawn: number; // when the page drew last
  key: number; // when the user pressed the last key; -Infinity: does not type
  hidden: boolean; // nobody sees the page
}

// drawAt returns when to draw, as long as no other key comes. A frame that is drawn has the
// browser show the keys of the next 50 ms with its own beat of frames, not at once.
export function drawAt(past: Past): number {
  if (past.hidden) return past.arrived + hidden;
  const soonest = (pause: number) => Math.max(past.arrived + together, past.drawn + pause);
  if (past.key === -Infinity) return soonest(reading);
  const at = Math.max(soonest(typing), past.key + shown);
  return at <= past.key + shown + free ? at : at + next;
}
