// The output of running commands, as it comes: connected only while somebody looks.
import { createContext, useContext, useEffect, useSyncExternalStore } from 'react';
import type { Conversation } from '../api/conversation';

// LiveOutput is the end of a command's output, with its colours.
export interface LiveOutput {
  text: string;
  cut: boolean; // it has lost its beginning, or something in between
}

export interface Piece {
  action: string;
  text: string;
  cut: boolean;
}

const most = 128 * 1024; // characters of a command that are kept
const commands = 30; // that are kept
const linger = 1000; // milliseconds for which the connection outlives the last look: a last piece may come
const retry = 2000; // milliseconds between attempts to connect

// joined adds a piece. Of a long text the end is kept, from a line on.
export function joined(before: LiveOutput | undefined, piece: Piece): LiveOutput {
  const text = (before?.text ?? '') + piece.text;
  const cut = piece.cut || (before?.cut ?? false);
  return text.length > most ? { text: ending(text, most / 2), cut: true } : { text, cut };
}

// ending is the end of a text, from a line on if there is one.
export function ending(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = text.slice(-length);
  const line = end.indexOf('\n') + 1;
  return line < end.length ? end.slice(line) : end;
}

const styles = /\u001b\[[\d;]*m/g;

// overwritten is a text as a terminal shows it, where programs go back to the start of a
// line to write it again.
export function overwritten(text: string): string {
  if (!text.includes('\r')) return text;
  const line = (l: string) => {
    const [last = '', ...before] = l.replace(/\r+$/, '').split('\r').reverse();
    return before.length === 0 ? last : (before.reverse().join('').match(styles)?.join('') ?? '') + last;
  };
  return text.split('\n').map(line).join('\n');
}

// coloured puts the stored styles of a result into its text: "OFFSET:SGR OFFSET:SGR …", in
// characters of Unicode. Without styles, or with others, the text stays as it is.
export function coloured(text: string, marks: string): string {
  if (marks === '') return text;
  const characters = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const part = (from: number, to?: number) => (characters ? characters.slice(from, to).join('') : text.slice(from, to));
  let all = '';
  let at = 0;
  for (const mark of marks.split(' ')) {
    const [, offset, style] = /^(\d+):([\d;]*)$/.exec(mark) ?? [];
    const from = Number(offset);
    if (style === undefined || from < at) return text;
    all += `${part(at, from)}\u001b[${style ? `0;${style}` : '0'}m`;
    at = from;
  }
  return all + part(at);
}

// readPiece reads a frame; null if it is not one of output.
export function readPiece(data: unknown): Piece | null {
  try {
    const frame = JSON.parse(String(data)) as { type?: unknown; action_id?: unknown; text?: unknown; cut?: unknown } | null;
    if (frame?.type !== 'output' || typeof frame.action_id !== 'string' || typeof frame.text !== 'string') return null;
    return { action: frame.action_id, text: frame.text, cut: frame.cut === true };
  } catch {
    return null;
  }
}

// Outputs are the live outputs of one conversation.
export class Outputs {
  private readonly all = new Map<string, LiveOutput>();
  private readonly listeners = new Set<() => void>();
  private socket: WebSocket | null = null;
  private known = new Set<string>(); // commands of which this connection has sent something
  private looking = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private frame = 0;

  constructor(private readonly conversation: Pick<Conversation, 'socket'>) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  of(action: string): LiveOutput | undefined {
    return this.all.get(action);
  }

  // watch connects until the returned function is called.
  watch(): () => void {
    this.looking++;
    clearTimeout(this.timer);
    if (!this.socket) this.connect();
    return () => {
      if (--this.looking > 0) return;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.close(), linger);
    };
  }

  close(): void {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  private connect(): void {
    const socket = this.conversation.socket('output', '');
    this.socket = socket;
    this.known = new Set();
    socket.onmessage = ({ data }) => {
      const piece = readPiece(data);
      if (piece && this.socket === socket) this.add(piece);
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (this.looking === 0 || code === 4001 || code === 4004) return;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.connect(), retry);
    };
  }

  // add takes a piece. The first one of a connection has all that is there so far.
  private add(piece: Piece): void {
    const before = this.known.has(piece.action) ? this.all.get(piece.action) : undefined;
    this.known.add(piece.action);
    this.all.delete(piece.action); // the newest is last
    this.all.set(piece.action, joined(before, piece));
    for (const oldest of this.all.keys()) {
      if (this.all.size <= commands) break;
      this.all.delete(oldest);
    }
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const listener of this.listeners) listener();
    });
  }
}

export const OutputsContext = createContext<Outputs | null>(null);

const never = () => () => {};

// useLiveOutput returns the watched output of a command.
export function useLiveOutput(action: string, running: boolean): LiveOutput | undefined {
  const outputs = useContext(OutputsContext);
  useEffect(() => (running ? outputs?.watch() : undefined), [outputs, running]);
  return useSyncExternalStore(outputs?.subscribe ?? never, () => outputs?.of(action));
}
