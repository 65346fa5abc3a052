import { FitAddon } from '@xterm/addon-fit';
import { Terminal as XTerm } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { isDark } from '../design/theme';

// Terminals of this page, so that a panel that is opened again shows the same
// shell. The server keeps the shell and its newest output.
const opened = new Map<string, string>();

type State = { kind: 'connecting' | 'open' | 'lost' } | { kind: 'exited'; code: number } | { kind: 'failed'; detail: string };

// Terminal is a shell in the conversation's sandbox (docs/terminals.md).
export default function Terminal({ conversation }: { conversation: Conversation }) {
  const host = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<State>({ kind: 'connecting' });
  const [round, setRound] = useState(0);

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const terminal = new XTerm({
      fontFamily: getComputedStyle(element).fontFamily,
      fontSize: 13,
      cursorBlink: true,
      scrollback: 5000,
      screenReaderMode: true,
      theme: colours(element),
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(element);
    fit.fit();
    terminal.focus();

    const encoder = new TextEncoder();
    let socket: WebSocket | null = null;
    let offset = 0;
    let ended = false;
    let attempts = 0;
    let retry: ReturnType<typeof setTimeout> | undefined;

    const connect = () => {
      const id = opened.get(conversation.id);
      const size = `?rows=${terminal.rows}&cols=${terminal.cols}`;
      const s = conversation.socket('terminal', id ? `${size}&terminal=${encodeURIComponent(id)}&offset=${offset}` : size);
      s.binaryType = 'arraybuffer';
      socket = s;
      s.onmessage = ({ data }) => {
        if (data instanceof ArrayBuffer) {
          offset += data.byteLength;
          terminal.write(new Uint8Array(data));
          return;
        }
        const frame = JSON.parse(String(data)) as { type: string; terminal?: string; offset?: number; exit_code?: number; detail?: string };
        if (frame.type === 'opened' && frame.terminal) {
          opened.set(conversation.id, frame.terminal);
          offset = frame.offset ?? 0;
          attempts = 0;
          setState({ kind: 'open' });
          s.send(JSON.stringify({ type: 'resize', rows: terminal.rows, cols: terminal.cols }));
        } else if (frame.type === 'exited') {
          ended = true;
          opened.delete(conversation.id);
          setState({ kind: 'exited', code: frame.exit_code ?? 0 });
        } else if (frame.type === 'error') {
          setState({ kind: 'failed', detail: frame.detail ?? '' });
        }
      };
      s.onclose = ({ code }) => {
        if (ended || socket !== s) return;
        if (code === 4004 && opened.delete(conversation.id)) {
          // The shell is gone, or another page took it over: a new one.
          offset = 0;
          connect();
          return;
        }
        if (code === 4001 || code === 4004 || code === 1013) {
          ended = true;
          setState((before) => (before.kind === 'failed' ? before : { kind: 'failed', detail: 'The server opened no terminal.' }));
          return;
        }
        setState({ kind: 'lost' });
        retry = setTimeout(connect, Math.min(5000, 200 * 2 ** attempts++));
      };
    };
    connect();

    const send = (data: Uint8Array<ArrayBuffer>) => socket?.readyState === WebSocket.OPEN && socket.send(data);
    const input = terminal.onData((text) => send(encoder.encode(text)));
    const binary = terminal.onBinary((text) => send(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    const resized = terminal.onResize(({ rows, cols }) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'resize', rows, cols }));
    });
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(element);
    return () => {
      ended = true;
      clearTimeout(retry);
      observer.disconnect();
      for (const listener of [input, binary, resized]) listener.dispose();
      socket?.close();
      terminal.dispose();
    };
  }, [conversation, round]);

  return (
    <div className="terminal-panel">
      {state.kind === 'lost' && (
        <p className="banner warn" role="status">
          The connection is lost. What you type is not sent.
        </p>
      )}
      {(state.kind === 'exited' || state.kind === 'failed') && (
        <p className={state.kind === 'failed' ? 'banner bad' : 'banner'} role="status">
          <span className="grow">{state.kind === 'exited' ? `The shell has ended with exit code ${state.code}.` : state.detail}</span>
          <button
            className="button"
            onClick={() => {
              setState({ kind: 'connecting' });
              setRound(round + 1);
            }}
          >
            New shell
          </button>
        </p>
      )}
      <div ref={host} className="terminal-host mono" />
    </div>
  );
}

function colours(element: HTMLElement) {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const base = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
  return {
    background: token('--bg'),
    foreground: token('--text'),
    cursor: token('--accent'),
    selectionBackground: isDark() ? '#3d4f70' : '#c6d8f8',
    ...Object.fromEntries(base.map((name, i) => [name, token(`--ansi-${i}`)])),
  };
}
