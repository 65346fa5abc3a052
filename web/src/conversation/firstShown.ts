// step is how many rows of a thread are shown at first, and how many more at a time.
export const step = 40;

// most is how many rows of a thread are shown at all: the page of its conversation draws only
// the rows in view.
export const most = 400;

// firstShown is the place of the first row that a thread shows, for the newest `shown` rows.
// `kept` is the id of a row that stays, as somebody reads the rows behind it.
export function firstShown(rows: { id: string }[], shown: number, kept: string | null): number {
  const first = Math.max(0, rows.length - shown);
  const at = kept === null ? -1 : rows.findIndex((row) => row.id === kept);
  return at < 0 ? first : Math.max(Math.min(at, first), rows.length - most);
}
