const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

// Formats are made when they are needed: each costs milliseconds, which the first paint
// would wait for.
let relative: Intl.RelativeTimeFormat | undefined;

// ago says how long ago a time was: "5 min. ago".
export function ago(iso: string, now = Date.now()): string {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (!Number.isFinite(seconds)) return '';
  for (const [unit, length] of units) {
    if (seconds < length) continue;
    relative ??= new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
    return relative.format(-Math.floor(seconds / length), unit);
  }
  return 'now';
}

export function money(usd: number): string {
  if (usd === 0) return '$0.00';
  return usd < 0.01 ? '<$0.01' : `$${usd.toFixed(2)}`;
}

let compact: Intl.NumberFormat | undefined;

export function tokens(n: number): string {
  compact ??= new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
  return compact.format(n);
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  return n < 1 << 20 ? `${(n / 1024).toFixed(1)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`;
}

export function duration(from: string, to: string): string {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  if (!(seconds >= 1)) return '';
  return seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

const statuses: Record<string, string> = {
  starting: 'Starting',
  idle: 'Idle',
  running: 'Working',
  paused: 'Paused',
  waiting_for_confirmation: 'Needs your answer',
  finished: 'Finished',
  error: 'Failed',
  stuck: 'Stuck',
  stopped: 'Stopped',
  lost: 'Sandbox lost',
  archived: 'Archived',
};

export function statusText(status: string): string {
  return statuses[status] ?? status;
}
