// visible shows characters of a text that have no form: they change the direction of the
// text, or take no room. People must see the text that runs. The joiners of scripts and emoji
// stay.
export function visible(text: string): string {
  return text.replace(hidden, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
}

// Tags can spell a whole text that nobody sees. Line ends of Windows are left.
const hidden = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|(?!\n|\t|\r(?:\n|$))[\u0000-\u001f\u007f-\u009f]/gu;
