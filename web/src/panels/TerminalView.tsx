import { FitAddon } from '@xterm/addon-fit';
import { Terminal as XTerm } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { isDark } from '../design/theme';
import { byTouch } from '../design/touch';
import { TerminalKeys, typed, withCtrl, type Key } from './TerminalKeys';
import { tr } from '../i18n/text';

type State =
  | { kind: 'connecting' | 'open' | 'lost' }
  | { kind: 'taken' } // by another page, or by deft shell
  | { kind: 'ended'; why: string }
  | { kind: 'failed'; detail: string };

interface Props {
  conversation: Conversation;
  id: string | null; // null: a new shell
  shown: boolean;
  onOpened: (id: string) => void;
  onRestart: () => void; // a new shell in its place
  onLeave: () => void; // the keyboard leaves the terminal
}

interface Frame {
  type: string;
  terminal?: string;
  offset?: number;
  exit_code?: number;
  code?: string;
  detail?: string;
}

// TerminalView is one pseudo terminal of the conversation's sandbox (docs/terminals.md).
export function TerminalView({ conversation, id, shown, onOpened, onRestart, onLeave }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<State>({ kind: 'connecting' });
  const [round, setRound] = useState(0); // of connecting again after another client
  const wanted = useRef(id);
  const events = useRef({ onOpened, onLeave });
  const view = useRef<{ focus: () => void; fit: () => void; type: (key: Key) => void } | null>(null);
  const [ctrl, setCtrl] = useState(false); // the next key is typed with Ctrl
  const withControl = useRef(false);

  useEffect(() => {
    events.current = { onOpened, onLeave };
  }, [onOpened, onLeave]);

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
    const fitter = new FitAddon();
    terminal.loadAddon(fitter);
    terminal.open(element);
    const fit = () => {
      if (element.offsetWidth > 0) fitter.fit(); // a hidden terminal keeps its size
    };
    fit();
    const type = (key: Key) => terminal.input(typed(key, terminal.modes.applicationCursorKeysMode));
    view.current = { focus: () => terminal.focus(), fit, type };
    // Tab belongs to the shell, so another key leaves.
    terminal.attachCustomKeyEventHandler((e) => {
      if (e.key !== 'Escape' || !e.shiftKey) return true;
      if (e.type === 'keydown') events.current.onLeave();
      return false;
    });

    const encoder = new TextEncoder();
    let socket: WebSocket | null = null;
    let offset = 0;
    let ended = false;
    let attempts = 0;
    let typedEarly: Uint8Array<ArrayBuffer>[] | null = []; // before the shell was there; null afterwards
    let retry: ReturnType<typeof setTimeout> | undefined;

    const end = (next: State) => {
      ended = true;
      setState(next);
    };
    const connect = () => {
      const size = `?rows=${terminal.rows}&cols=${terminal.cols}`;
      const known = wanted.current;
      const s = conversation.socket('terminal', known ? `${size}&terminal=${encodeURIComponent(known)}&offset=${offset}` : size);
      let refused: Frame | null = null;
      s.binaryType = 'arraybuffer';
      socket = s;
      s.onmessage = ({ data }) => {
        if (data instanceof ArrayBuffer) {
          offset += data.byteLength;
          terminal.write(new Uint8Array(data));
          return;
        }
        const frame = JSON.parse(String(data)) as Frame;
        if (frame.type === 'opened' && frame.terminal) {
          wanted.current = frame.terminal;
          offset = frame.offset ?? 0;
          attempts = 0;
          setState({ kind: 'open' });
          events.current.onOpened(frame.terminal);
          s.send(JSON.stringify({ type: 'resize', rows: terminal.rows, cols: terminal.cols }));
          for (const data of typedEarly ?? []) s.send(data);
          typedEarly = null;
        } else if (frame.type === 'exited') {
          end({ kind: 'ended', why: tr('The shell has ended with exit code {code}.', { code: frame.exit_code ?? 0 }) });
        } else if (frame.type === 'error') {
          refused = frame;
        }
      };
      s.onclose = ({ code }) => {
        if (ended || socket !== s) return;
        if (code === 4004 && refused?.code === 'conflict') return end({ kind: 'taken' });
        if (code === 4004 && known) return end({ kind: 'ended', why: tr('The shell is gone: its sandbox was stopped.') });
        if (code === 4001 || code === 4004 || code === 1013) return end({ kind: 'failed', detail: refused?.detail ?? tr('The server opened no terminal.') });
        typedEarly = null;
        setState({ kind: 'lost' });
        retry = setTimeout(connect, Math.min(5000, 200 * 2 ** attempts++));
      };
    };
    connect();

    const send = (data: Uint8Array<ArrayBuffer>) => {
      if (typedEarly) typedEarly.push(data);
      else if (socket?.readyState === WebSocket.OPEN) socket.send(data);
    };
    const listeners = [
      terminal.onData((text) => {
        send(encoder.encode(withControl.current ? withCtrl(text) : text));
        withControl.current = false;
        setCtrl(false);
      }),
      terminal.onBinary((text) => send(Uint8Array.from(text, (c) => c.charCodeAt(0)))),
      terminal.onResize(({ rows, cols }) => {
        if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'resize', rows, cols }));
      }),
    ];
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    return () => {
      ended = true;
      view.current = null;
      clearTimeout(retry);
      observer.disconnect();
      for (const listener of listeners) listener.dispose();
      socket?.close();
      terminal.dispose();
    };
  }, [conversation, round]);

  useEffect(() => {
    if (!shown) return;
    view.current?.fit();
    view.current?.focus();
  }, [shown, round]);

  return (
    <div className="terminal-view" hidden={!shown}>
      {state.kind === 'lost' && (
        <p className="banner warn" role="status">
          {tr('The connection is lost. What you type is not sent.')}
        </p>
      )}
      {state.kind === 'taken' && (
        <p className="banner" role="status">
          <span className="grow">{tr('Another page or deft shell has this terminal now.')}</span>
          <button
            className="button"
            onClick={() => {
              setState({ kind: 'connecting' });
              setRound(round + 1);
            }}
          >
            {tr('Take it back')}
          </button>
        </p>
      )}
      {(state.kind === 'ended' || state.kind === 'failed') && (
        <p className={state.kind === 'failed' ? 'banner bad' : 'banner'} role="status">
          <span className="grow">{state.kind === 'ended' ? state.why : state.detail}</span>
          <button className="button" onClick={onRestart}>
            {tr('New shell')}
          </button>
        </p>
      )}
      <div ref={host} className="terminal-host mono" />
      {byTouch() && (
        <TerminalKeys
          ctrl={ctrl}
          onCtrl={() => {
            withControl.current = !ctrl;
            setCtrl(!ctrl);
          }}
          onKey={(key) => view.current?.type(key)}
        />
      )}
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
