// Answers that public/first.js has asked for, before this script was there. They are read to
// their end, so that whoever takes one has it at once, before the next paint.
export interface Early {
  head: Response; // without its body
  text: string;
}

declare global {
  interface Window {
    deftEarly?: Map<string, Promise<Early>>;
  }
}

// fresh is how long such an answer is as good as a new one, in milliseconds since the
// page was opened.
const fresh = 10_000;

// takeEarly returns the answer to a GET request, once.
export function takeEarly(path: string): Promise<Early> | undefined {
  const answer = window.deftEarly?.get(path);
  window.deftEarly?.delete(path);
  return performance.now() < fresh ? answer : undefined;
}
