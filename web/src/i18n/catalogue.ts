// A Catalogue has texts of a language by the English ones; of those that depend on a
// number the forms, as Intl.PluralRules names them, by the English one for other numbers.
export type Catalogue = Readonly<Record<string, string | Readonly<Record<string, string> & { other: string }>>>;

// load gets a catalogue. English needs none; without the file the page is in English.
export async function load(language: 'en' | 'de'): Promise<Catalogue> {
  if (language === 'en') return {};
  return import('./de').then(
    (m) => m.de,
    () => ({}),
  );
}
