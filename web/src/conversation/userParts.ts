// The user's text is shown as it is, except fenced code: text files come with a task as such.
import { Lexer, type Tokens } from 'marked';

export interface Part {
  code: boolean;
  text: string;
}

// userParts splits a message of a user into its text and its fenced code.
export function userParts(message: string): Part[] {
  if (!/^ {0,3}(?:```|~~~)/m.test(message)) return [{ code: false, text: message }];
  const parts: Part[] = [];
  let text = '';
  const end = () => {
    if (text.trim()) parts.push({ code: false, text: text.replace(/^\n+|\n+$/g, '') });
    text = '';
  };
  // Only blocks are read: emphasis without an end costs the square of its length.
  for (const token of new Lexer().blockTokens(message.replace(/\r\n?/g, '\n'))) {
    const code = token.type === 'code' && (token as Tokens.Code).codeBlockStyle !== 'indented';
    if (!code) {
      text += token.raw;
      continue;
    }
    end();
    parts.push({ code, text: (token as Tokens.Code).text.replace(/\n+$/, '') });
  }
  end();
  return parts;
}
