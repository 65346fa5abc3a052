// Markdown as HTML, which is unsafe before it is sanitised, and a check of its links.
import { Marked, Tokenizer } from 'marked';

const marked = new Marked({ gfm: true, breaks: false, async: false });

marked.use({
  renderer: {
    // An image of another host would tell it who reads this, and when. Its
    // address is shown as a link instead.
    image({ href, text }) {
      return `<a href="${escape(href)}">${escape(text || href)}</a>`;
    },
    code({ text, lang }) {
      const language = /^[\w+#.-]{1,30}/.exec(lang ?? '')?.[0] ?? '';
      return `<pre${language && ` data-language="${language}"`}><code>${escape(text)}\n</code></pre>\n`;
    },
    codespan({ text }) {
      return `<code>${escape(text)}</code>`;
    },
    // There are no fields in a text.
    checkbox({ checked }) {
      return checked ? '☑ ' : '☐ ';
    },
    // HTML in a text is shown, not applied.
    html({ text }) {
      return escape(text);
    },
  },
  tokenizer: {
    emStrong(src, masked, prev) {
      return attempt(src, masked, () => Tokenizer.prototype.emStrong.call(this, src, masked, prev));
    },
    del(src, masked, prev) {
      return attempt(src, masked, () => Tokenizer.prototype.del.call(this, src, masked, prev));
    },
    // An address of mail is looked for from each letter of a word to its end.
    inlineText(src) {
      const word = /^\S{1000,}/.exec(src)?.[0];
      return word ? { type: 'text', raw: word, text: word, escaped: false } : false;
    },
  },
});

// largestSearch is how much is read in vain for the ends of emphasis in a text, in
// characters. Marks without an end would cost the square of their number.
const largestSearch = 2_000_000;

let left = 0;

function attempt<T>(src: string, masked: string, read: () => T | undefined): T | undefined {
  if (left <= 0 || !/^[*_~]/.test(src)) return undefined;
  const token = read();
  if (!token) left -= masked.length;
  return token;
}

export function toMarkup(text: string): string {
  left = largestSearch;
  return marked.parse(text) as string;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

// misleads reports whether a link's text names another host than the link, or the address
// contains a look-alike of another host.
export function misleads(text: string, target: URL): boolean {
  if (target.host.split('.').some((label) => label.startsWith('xn--'))) return true;
  if (!target.protocol.startsWith('http')) return false;
  if (target.username || target.password) return true;
  const words = text.trim().split(/\s+/);
  return words.some((word) => /:\/\/|^www\./i.test(word) || (words.length === 1 && /[^.]\.[^.]/.test(word)) ? hostOf(word) !== target.host : false);
}

// hostOf is empty if a text is no address.
function hostOf(text: string): string {
  try {
    return new URL(text.includes('://') ? text : `http://${text}`).host;
  } catch {
    return '';
  }
}
