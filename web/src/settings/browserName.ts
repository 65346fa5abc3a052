// browserName names a browser and its system, by the header User-Agent. Most name several other
// browsers as well: the first of the list counts.
const browsers: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*Safari\//, 'Safari'],
];

const systems: [RegExp, string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
];

const named = (text: string, names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(text))?.[1];

export function browserName(userAgent: string): string {
  const browser = named(userAgent, browsers);
  return browser ? [browser, named(userAgent, systems)].filter(Boolean).join(', ') : userAgent;
}
