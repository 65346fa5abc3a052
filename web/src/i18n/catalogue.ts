// A Catalogue has texts of a language under the English ones. A text that depends on a number
// has its forms under the English text for other numbers, as Intl.PluralRules names them.
export type Catalogue = Readonly<Record<string, string | Readonly<Record<string, string> & { other: string }>>>;
