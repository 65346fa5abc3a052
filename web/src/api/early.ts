// Answers that public/first.js has asked for, before this script was there. They are read to
// their end, so that whoever takes one has it at once, before the next paint.
export interface Early {
  head: Response; // without its body
  text: string;
}

declare global {
  interface Window {
    deftEarly?: () => Map<string, Promise<Early>>; // asks, if that has not been done
  }
}

// fresh is how long such an answer is as good as a new one, in milliseconds since the
// page was opened.
const fresh = 10_000;

// takeEarly returns the answer to a GET request, once.
export function takeEarly(path: string): Promise<Early> | undefined {
  const early = window.deftEarly?.();
  const answer = early?.get(path);
  early?.delete(path);
  return performance.now() < fresh ? answer : undefined;
}

// forgetEarly drops the answers that nobody has taken: they are those to a page without a sign-in.
export function forgetEarly(): void {
  window.deftEarly?.().clear();
}
