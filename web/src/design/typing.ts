// Whether the user is typing. A key is shown with the next frame; that is up to 17 ms away
// if the page has just drawn one for something else. So other drawing waits for the moment
// after a key, and animations stand still: see `data-typing` in base.css.

// typed is how long the user counts as typing after a key, in milliseconds.
export const typed = 500;

let last = -Infinity;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

// lastKey is when the newest key changed a text, by the page's clock; -Infinity if the user is not typing.
export const lastKey = (): number => last;

// onKey calls a listener after each such key, until the function that it returns is called.
export function onKey(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// watchTyping is to be called once, before anything is drawn.
export function watchTyping(): void {
  window.addEventListener('keydown', onKeyDown, true);
}

function onKeyDown(e: KeyboardEvent): void {
  if (!(e.target instanceof HTMLTextAreaElement || e.target instanceof HTMLInputElement)) return;
  // The user waits for a message that Enter sends.
  if (e.key === 'Enter') end();
  else if ((e.key.length === 1 && !e.ctrlKey && !e.metaKey) || e.key === 'Backspace') {
    if (last === -Infinity) document.documentElement.dataset.typing = '';
    last = performance.now();
    timer ??= setTimeout(rest, typed);
    for (const listener of listeners) listener();
  }
}

function rest(): void {
  timer = undefined;
  const left = last + typed - performance.now();
  if (left > 0) timer = setTimeout(rest, left);
  else end();
}

function end(): void {
  clearTimeout(timer);
  timer = undefined;
  last = -Infinity;
  delete document.documentElement.dataset.typing;
}
