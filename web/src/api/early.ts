// Answers that public/first.js has asked for, before this script was there.
declare global {
  interface Window {
    deftEarly?: Map<string, Promise<Response>>;
  }
}

// fresh is how long such an answer is as good as a new one, in milliseconds since the
// page was opened.
const fresh = 10_000;

// takeEarly returns the answer to a GET request, once.
export function takeEarly(path: string): Promise<Response> | undefined {
  const answer = window.deftEarly?.get(path);
  window.deftEarly?.delete(path);
  return performance.now() < fresh ? answer : undefined;
}
