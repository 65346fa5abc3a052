// Texts of the page in the user's language. English texts are in the code, as arguments of
// `tr`, `plural` and `trNodes`; a catalogue has them in another language, by the English
// ones. A missing text is shown in English. scripts/texts.test.ts finds texts that go around this.
import type { Catalogue } from './catalogue';

export const languages = { en: 'English', de: 'Deutsch' } as const;

export type Language = keyof typeof languages;

const key = 'deft.language';

// language was chosen by public/first.js before the first paint: the user's choice in this
// browser, or the first of the browser's languages with a catalogue.
export const language: Language = current();

function current(): Language {
  const chosen = typeof document === 'undefined' ? 'en' : document.documentElement.lang;
  return Object.hasOwn(languages, chosen) ? (chosen as Language) : 'en';
}

// chosen is the user's choice in this browser; null: none.
export function chosen(): Language | null {
  try {
    const kept = localStorage.getItem(key) ?? '';
    return Object.hasOwn(languages, kept) ? (kept as Language) : null;
  } catch {
    return null;
  }
}

// choose keeps the language, or with null the browser's, and loads the page anew:
// texts are read once.
export function choose(wanted: Language | null): void {
  try {
    if (wanted === null) localStorage.removeItem(key);
    else localStorage.setItem(key, wanted);
  } catch {
    return; // without storage the browser's language holds
  }
  window.location.reload();
}

// load gets a catalogue. English needs none; without the file the page is in English.
async function load(wanted: Language): Promise<Catalogue> {
  if (wanted === 'en') return {};
  return import('./de').then(
    (m) => m.de,
    () => ({}),
  );
}

// Awaited here, so that every module that uses a text has its language.
const catalogue: Catalogue = await load(language);

type Values = Record<string, string | number>;

// tr is a text in the user's language, with {name} replaced by the value of that name.
export function tr(english: string, values?: Values): string {
  const found = catalogue[english];
  return fill(typeof found === 'string' ? found : english, values);
}

let rules: Intl.PluralRules | undefined;

// plural is a text that depends on a number, which it has as {n}: one form for one, the
// other for other numbers. Catalogues have the forms of their language under the other one.
export function plural(n: number, one: string, other: string, values?: Values): string {
  return fill(form(n, one, other), { ...values, n: number(n) });
}

function form(n: number, one: string, other: string): string {
  const forms = catalogue[other];
  if (typeof forms !== 'object') return n === 1 ? one : other;
  rules ??= new Intl.PluralRules(language);
  return forms[rules.select(n)] ?? forms.other;
}

// How a language groups and separates digits is seen in its text for this number. The first
// Intl.NumberFormat of a page looks through all languages that the browser knows, which is as
// much work as drawing the whole page.
const marks = tr('1,234.5');
const [group = '', separator = ''] = [marks.charAt(1), marks.charAt(5)];

// number is a number with so many digits behind the separator.
export function number(n: number, digits = 0): string {
  const [whole = '', fraction] = n.toFixed(digits).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return fraction === undefined ? grouped : grouped + separator + fraction;
}

function fill(text: string, values: Values | undefined): string {
  if (!values) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
}
