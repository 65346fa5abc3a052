import { number, plural, tr } from '../i18n/text';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const month = 30 * day;
const year = 365 * day;

// ago says how long ago a time was: "5 min. ago". Like the other formats here it does without
// Intl, see i18n/text.ts.
export function ago(iso: string, now = Date.now()): string {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (!Number.isFinite(seconds)) return '';
  const past = (unit: number) => Math.floor(seconds / unit);
  if (seconds < minute) return tr('now');
  if (seconds < hour) return tr('{n} min. ago', { n: past(minute) });
  if (seconds < day) return tr('{n} hr. ago', { n: past(hour) });
  if (seconds < 2 * day) return tr('yesterday');
  if (seconds < month) return tr('{n} days ago', { n: past(day) });
  if (seconds < year) return plural(past(month), '1 month ago', '{n} months ago');
  return plural(past(year), '1 year ago', '{n} years ago');
}

export function money(usd: number): string {
  return usd > 0 && usd < 0.01 ? `<${dollars(0.01, 2)}` : dollars(usd, 2);
}

// spentText is an amount that a conversation has cost, empty for 0: then nothing was called, or
// the prices are not known.
export function spentText(usd: number | null): string {
  return usd ? money(usd) : '';
}

// smallMoney is an amount below a cent, with its first two digits.
export function smallMoney(usd: number): string {
  return dollars(usd, Math.min(1 - Math.floor(Math.log10(usd)), 20));
}

function dollars(usd: number, digits: number): string {
  return tr('${amount}', { amount: number(usd, digits) });
}

// tokens is a count to three or four digits: "950", "12.3K", "1.2M".
export function tokens(n: number): string {
  const thousands = Math.round(n / 100) / 10;
  if (n < 1000) return number(n);
  if (thousands < 1000) return tr('{n}K', { n: short(thousands) });
  return tr('{n}M', { n: short(Math.round(n / 100_000) / 10) });
}

const short = (n: number): string => number(n, Number.isInteger(n) ? 0 : 1);

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  return n < 1 << 20 ? `${tenths(n / 1024)} KB` : `${tenths(n / (1 << 20))} MB`;
}

// tenths is a number with one digit behind the separator.
export const tenths = (n: number): string => number(n, 1);

// duration is a time in milliseconds, empty below a second.
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
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
  terminal: tr('From the terminal'),
  lost: tr('Sandbox lost'),
  archived: tr('Archived'),
};

export function statusText(status: string): string {
  return statuses[status] ?? status;
}
