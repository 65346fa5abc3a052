// The live view of the agent's browser: frames of the page, and what a person does on it.
import type { Conversation } from '../api/conversation';

export interface Tab {
  id: string;
  title: string;
  url: string;
  active: boolean;
}

export interface Frame {
  picture: string; // a data URL
  width: number; // of the page's window, in its own pixels
  height: number;
}

export type LiveState = { kind: 'connecting' | 'open' | 'none' | 'lost' } | { kind: 'failed'; detail: string };

interface Handlers {
  onState: (state: LiveState) => void;
  onTabs: (tabs: Tab[]) => void;
  onFrame: (frame: Frame, shown: () => void) => void; // the next frame comes after shown
}

interface Message {
  type: string;
  tabs?: Tab[];
  n?: number;
  jpeg?: string;
  width?: number;
  height?: number;
  code?: string;
  detail?: string;
}

// A Link is a connection to the view, which is made again when it is lost.
export interface Link {
  send: (message: object) => void;
  close: () => void;
}

export function openLive(conversation: Conversation, { onState, onTabs, onFrame }: Handlers): Link {
  let socket: WebSocket | null = null;
  let closed = false;
  let attempts = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    const s = conversation.socket('view', '');
    let refused: Message | null = null;
    socket = s;
    s.onmessage = ({ data }) => {
      const m = JSON.parse(String(data)) as Message;
      if (m.type === 'error') refused = m;
      if (m.type === 'tabs') {
        attempts = 0;
        onState({ kind: 'open' });
        onTabs(m.tabs ?? []);
      }
      if (m.type === 'frame' && m.jpeg) {
        const shown = () => {
          if (s.readyState === WebSocket.OPEN) s.send(JSON.stringify({ type: 'shown', n: m.n }));
        };
        onFrame({ picture: `data:image/jpeg;base64,${m.jpeg}`, width: m.width ?? 0, height: m.height ?? 0 }, shown);
      }
    };
    s.onclose = ({ code }) => {
      if (closed || socket !== s) return;
      if (code === 4004 || code === 1000) return onState({ kind: 'none' });
      if (code === 4001 || refused) return onState({ kind: 'failed', detail: refused?.detail ?? '' });
      onState({ kind: 'lost' });
      retry = setTimeout(connect, Math.min(5000, 200 * 2 ** attempts++));
    };
  };
  connect();
  return {
    send: (message) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    },
    close: () => {
      closed = true;
      clearTimeout(retry);
      socket?.close();
    },
  };
}

type Modified = Pick<MouseEvent, 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey'>;

// modifiers are as in Chromium's DevTools protocol.
export const modifiers = (e: Modified) => Number(e.altKey) + 2 * Number(e.ctrlKey) + 4 * Number(e.metaKey) + 8 * Number(e.shiftKey);

// pageAt is the place on the page of a place in the picture, which is as wide as box.
export function pageAt(frame: Pick<Frame, 'width' | 'height'>, box: Pick<DOMRect, 'left' | 'top' | 'width' | 'height'>, at: { clientX: number; clientY: number }) {
  const within = (value: number, most: number) => Math.round(Math.min(Math.max(value, 0), 1) * most);
  return {
    x: within((at.clientX - box.left) / (box.width || 1), frame.width),
    y: within((at.clientY - box.top) / (box.height || 1), frame.height),
  };
}

// keyMessage is a key for the page. A key that writes has its text.
export const keyMessage = (type: 'down' | 'up', e: Pick<KeyboardEvent, 'key' | 'code' | 'keyCode'> & Modified) => ({
  type: 'key',
  event: type,
  key: e.key,
  code: e.code,
  key_code: e.keyCode,
  modifiers: modifiers(e),
  text: type === 'down' && !e.ctrlKey && !e.metaKey ? (e.key === 'Enter' ? '\r' : [...e.key].length === 1 ? e.key : '') : '',
});

// isText reports whether a key's text comes by the text box: of input methods, of keyboards of phones, of
// keys that change the next one, of AltGr, and from the clipboard.
export const isText = (e: Pick<KeyboardEvent, 'key' | 'keyCode' | 'isComposing' | 'getModifierState'> & Modified): boolean =>
  e.isComposing || e.keyCode === 229 || e.key === 'Dead' || e.getModifierState('AltGraph') || ((e.ctrlKey || e.metaKey) && e.key === 'v');

// typedMessages write on the page as in the text box, where one text has become another one.
export function typedMessages(before: string, now: string): object[] {
  const [from, to] = [[...before], [...now]];
  const same = from.findIndex((c, i) => c !== to[i]);
  const kept = same < 0 ? from.length : same;
  const key = { key: 'Backspace', code: 'Backspace', keyCode: 8, altKey: false, ctrlKey: false, metaKey: false, shiftKey: false };
  const back = from.slice(kept).flatMap(() => [keyMessage('down', key), keyMessage('up', key)]);
  return to.length > kept ? [...back, { type: 'text', text: to.slice(kept).join('') }] : back;
}
