// The user's text is shown as it is, except fenced code: text files come with a task as such.
import { Lexer, type Tokens } from 'marked';
import { languageOf } from '../syntax/language';

export interface Part {
  code: boolean;
  text: string;
  language: string; // of code, if it or the name of its file says that
}

// userParts splits a message of a user into its text and its fenced code.
export function userParts(message: string): Part[] {
  if (!/^ {0,3}(?:```|~~~)/m.test(message)) return [{ code: false, text: message, language: '' }];
  const parts: Part[] = [];
  let named = ''; // the file whose text follows
  let text = '';
  const end = () => {
    if (text.trim()) parts.push({ code: false, text: text.replace(/^\n+|\n+$/g, ''), language: '' });
    named = /(\S{1,200}):\s*$/.exec(text)?.[1] ?? '';
    text = '';
  };
  // Only blocks are read: emphasis without an end costs the square of its length.
  for (const token of new Lexer().blockTokens(message.replace(/\r\n?/g, '\n'))) {
    if (token.type !== 'code' || (token as Tokens.Code).codeBlockStyle === 'indented') {
      text += token.raw;
      continue;
    }
    end();
    const { text: code, lang } = token as Tokens.Code;
    parts.push({ code: true, text: code.replace(/\n+$/, ''), language: /^[\w+#.-]+/.exec(lang ?? '')?.[0] ?? languageOf(named) });
  }
  end();
  return parts;
}

// codeWords splits a text at words between backticks in one line.
export function codeWords(text: string): Pick<Part, 'code' | 'text'>[] {
  return text.split(/`([^`\n]+)`/).flatMap((part, i) => (part ? [{ code: i % 2 === 1, text: part }] : []));
}
