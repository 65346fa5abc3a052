// When the page draws what has arrived: often enough to be read, and between the keys of a
// user who types.

// Milliseconds. What the model writes is read, not watched: a few times a second are enough.
const together = 16; // what arrives within this time is drawn together
const shortest = 60; // between two drawings
const longest = 250; // between two drawings while the user types
const hidden = 200; // a page in the background
const shown = 24; // after this time a key has been shown
const before = 12; // and for this time after that the next key is not expected

export interface Past {
  arrived: number; // when the first of what is not drawn arrived
  drawn: number; // when the page drew last
  key: number; // when the user pressed the last key; -Infinity: does not type
  hidden: boolean; // nobody sees the page
}

// drawAt returns when to draw, as long as no other key comes.
export function drawAt(past: Past): number {
  if (past.hidden) return past.arrived + hidden;
  const soonest = Math.max(past.arrived + together, past.drawn + shortest);
  if (past.key === -Infinity) return soonest;
  const afterKey = Math.max(soonest, past.key + shown);
  if (past.drawn < past.key && afterKey <= past.key + shown + before) return afterKey;
  return Math.max(soonest, Math.max(past.drawn, past.arrived) + longest);
}
