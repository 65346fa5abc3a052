import { language, tr } from '../i18n/text';

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
    relative ??= new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
    return relative.format(-Math.floor(seconds / length), unit);
  }
  return tr('now');
}

let dollars: Intl.NumberFormat | undefined;

export function money(usd: number): string {
  dollars ??= new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' });
  return usd > 0 && usd < 0.01 ? `<${dollars.format(0.01)}` : dollars.format(usd);
}

let fractions: Intl.NumberFormat | undefined;

// smallMoney is an amount below a cent, with its first two digits.
export function smallMoney(usd: number): string {
  fractions ??= new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol', maximumSignificantDigits: 2 });
  return fractions.format(usd);
}

let compact: Intl.NumberFormat | undefined;

export function tokens(n: number): string {
  compact ??= new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
  return compact.format(n);
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  return n < 1 << 20 ? `${tenths(n / 1024)} KB` : `${tenths(n / (1 << 20))} MB`;
}

// tenths is a number with one digit behind the point.
export function tenths(n: number): string {
  one ??= new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return one.format(n);
}

let one: Intl.NumberFormat | undefined;

export function duration(from: string, to: string): string {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  if (!(seconds >= 1)) return '';
  return seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

const statuses: Record<string, string> = {
  starting: tr('Starting'),
  idle: tr('Idle'),
  running: tr('Working'),
  paused: tr('Paused'),
  waiting_for_confirmation: tr('Needs your answer'),
  finished: tr('Finished'),
  error: tr('Failed'),
  stuck: tr('Stuck'),
  asleep: tr('Sandbox paused'),
  stored: tr('Read only'),
  lost: tr('Sandbox lost'),
  archived: tr('Archived'),
};

export function statusText(status: string): string {
  return statuses[status] ?? status;
}
