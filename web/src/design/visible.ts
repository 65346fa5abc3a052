// visible shows characters of a text that have no form: they change the direction of the
// text, or take no room. People must see the text that runs. The joiners of scripts and emoji
// stay, and so do marks of direction beside letters that are written from right to left.
export function visible(text: string): string {
  if (!unusual.test(text)) return text;
  return text.replace(hidden, spelled).replace(linesWithMarks, (line) => (rightToLeft.test(line) ? line : line.replace(marks, spelled)));
}

const spelled = (c: string): string => `\\u{${c.codePointAt(0)?.toString(16)}}`;

// Most texts have none of all these.
const unusual = /[^\n\u0020-\u007e]/;

// Tags and variants of characters can spell a whole text that nobody sees; variants of Chinese
// characters are used. Line ends of Windows are left.
const hidden =
  /[\u00ad\u034f\u115f\u1160\u180e\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]|(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]|(?!\n|\t|\r(?:\n|$))[\u0000-\u001f\u007f-\u009f]/gu;

const marks = /[\u061c\u200e\u200f]/g;
const linesWithMarks = /.*[\u061c\u200e\u200f].*/g;
const rightToLeft = /(?=\p{L})[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

// showTexts makes all texts of an element visible, for markup that is made as a text.
export function showTexts(element: Element): void {
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) (node as Text).data = visible((node as Text).data);
}
