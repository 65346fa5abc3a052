// Reads the words of code in a worker, one text after another.
import type { Tokens } from './tokens';

export interface Question {
  text: string;
  language: string; // its name, or how names of its files end
}

export type Answer = Tokens | null; // null: the language is not known

// largest is how long a text may be that is read, in characters, and mostTokens how many
// coloured words it may have. Others stay plain.
export const largest = 100_000;
export const mostTokens = 20_000;

// longest is how long the worker may read a text, in milliseconds: hostile ones take it for ever.
const longest = 3000;

// kept is how many characters of texts that were read are kept with their words.
const kept = 1_000_000;

type Port = Pick<Worker, 'onmessage' | 'onerror' | 'postMessage' | 'terminate'>;

interface Asked extends Question {
  done: (answer: Answer) => void;
}

export class Reader {
  private worker: Port | null = null;
  private ready = false;
  private readonly asked: Asked[] = []; // the first one is being read
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly known = new Map<string, Promise<Answer>>();
  private size = 0;

  constructor(private readonly start: () => Port) {}

  // read returns the coloured words of a text. It never fails: an unreadable text is plain.
  read({ text, language }: Question): Promise<Answer> {
    if (!language || text.length > largest) return Promise.resolve(null);
    const key = `${language}\n${text}`;
    let answer = this.known.get(key);
    if (!answer) {
      answer = new Promise((done) => {
        this.asked.push({ text, language, done });
        if (this.asked.length === 1) this.next();
      });
      this.size += key.length;
    }
    this.known.delete(key); // the last used is the last one
    this.known.set(key, answer);
    for (const old of this.known.keys()) {
      if (this.size <= kept) break;
      this.known.delete(old);
      this.size -= old.length;
    }
    return answer;
  }

  private next(): void {
    const first = this.asked[0];
    if (!first) return;
    if (!this.worker) {
      this.ready = false;
      this.worker = this.start();
      this.worker.onmessage = ({ data }: MessageEvent<'ready' | Answer>) => {
        if (data === 'ready') {
          this.ready = true;
          this.next();
        } else {
          this.answer(data && data.length / 3 <= mostTokens ? data : null);
        }
      };
      this.worker.onerror = () => this.giveUp();
    }
    if (!this.ready) return;
    this.timer = setTimeout(() => this.giveUp(), longest);
    this.worker.postMessage({ text: first.text, language: first.language } satisfies Question);
  }

  private answer(answer: Answer): void {
    clearTimeout(this.timer);
    this.asked.shift()?.done(answer);
    this.next();
  }

  // giveUp leaves a text plain. The next one has another worker.
  private giveUp(): void {
    this.worker?.terminate();
    this.worker = null;
    this.answer(null);
  }
}
