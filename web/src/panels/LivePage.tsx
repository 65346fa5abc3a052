import { useEffect, useRef, type FormEvent, type KeyboardEvent, type MouseEvent, type PointerEvent } from 'react';
import { byTouch } from '../design/touch';
import { tr } from '../i18n/text';
import { isText, keyMessage, modifiers, pageAt, typedMessages, type Frame, type Link } from './liveView';

const buttons = ['left', 'middle', 'right'];

// filler is in the text box, so that keyboards of phones have a character to delete.
const filler = '\u200b';

interface Props {
  frame: Frame;
  send: Link['send'];
  onShown: () => void;
  onLeave: () => void;
}

// LivePage is the picture of a page that a person uses. Keys and text come by a text box, without
// which phones show no keyboard and input methods do not work.
export function LivePage({ frame, send, onShown, onLeave }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const text = useRef(filler); // in the box, as far as the page has it
  const finger = useRef<{ clientX: number; clientY: number } | null>(null);
  useEffect(() => {
    if (!byTouch()) box.current?.focus(); // fingers have a button, as the keyboard takes half of the window
  }, []);

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const wheel = (e: WheelEvent) => {
      e.preventDefault(); // which React's own listener cannot
      send({ type: 'mouse', event: 'wheel', ...pageAt(frame, element.getBoundingClientRect(), e), dx: e.deltaX, dy: e.deltaY, modifiers: modifiers(e) });
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  }, [frame, send]);

  const atEnd = () => box.current?.setSelectionRange(filler.length, filler.length);
  const mouse = (event: 'down' | 'up' | 'move') => (e: MouseEvent<HTMLDivElement>) => {
    if (event === 'down') {
      e.preventDefault(); // the box keeps the focus
      if (!byTouch()) box.current?.focus();
    }
    const button = event === 'move' ? (e.buttons & 1 ? 'left' : 'none') : (buttons[e.button] ?? 'left');
    const at = pageAt(frame, e.currentTarget.getBoundingClientRect(), e);
    send({ type: 'mouse', event, ...at, button, clicks: event === 'move' ? 0 : Math.max(e.detail, 1), modifiers: modifiers(e) });
  };
  const press = (e: PointerEvent<HTMLDivElement>) => {
    if (e.pointerType === 'touch') finger.current = e;
    else e.currentTarget.setPointerCapture(e.pointerId);
  };
  // A finger scrolls; where it taps, the browser makes a click of the mouse.
  const scroll = (e: PointerEvent<HTMLDivElement>) => {
    const last = finger.current;
    if (!last) return;
    const shown = e.currentTarget.getBoundingClientRect();
    const scale = frame.width / (shown.width || 1);
    finger.current = e;
    send({ type: 'mouse', event: 'wheel', ...pageAt(frame, shown, e), dx: (last.clientX - e.clientX) * scale, dy: (last.clientY - e.clientY) * scale, modifiers: 0 });
  };
  const lift = () => (finger.current = null);
  const key = (event: 'down' | 'up') => (e: KeyboardEvent) => {
    if (e.key === 'Escape' && e.shiftKey) {
      if (event === 'down') onLeave();
      return;
    }
    e.stopPropagation(); // no command of this page
    if (isText(e.nativeEvent)) return;
    e.preventDefault();
    send(keyMessage(event, e.nativeEvent));
  };
  const empty = () => {
    if (!box.current) return;
    box.current.value = text.current = filler;
    atEnd();
  };
  const input = (e: FormEvent<HTMLTextAreaElement>) => {
    const now = e.currentTarget.value;
    for (const message of typedMessages(text.current, now)) send(message);
    text.current = now;
    if (!(e.nativeEvent as InputEvent).isComposing) empty();
  };
  return (
    <>
      <div
        ref={host}
        className="live-page"
        onPointerDown={press}
        onPointerMove={scroll}
        onPointerUp={lift}
        onPointerCancel={lift}
        onMouseDown={mouse('down')}
        onMouseUp={mouse('up')}
        onMouseMove={mouse('move')}
        onContextMenu={(e) => e.preventDefault()}
      >
        <img className="picture live" src={frame.picture} width={frame.width || undefined} height={frame.height || undefined} alt={tr('The page in the agent’s browser')} onLoad={onShown} draggable={false} />
        <textarea
          ref={box}
          aria-label={tr('Keys for the page in the agent’s browser')}
          defaultValue={filler}
          autoCapitalize="off"
          autoComplete="off"
          autoCorrect="off"
          spellCheck={false}
          onFocus={atEnd}
          onKeyDown={key('down')}
          onKeyUp={key('up')}
          onInput={input}
          onCompositionEnd={empty}
        />
      </div>
      <div className="panel-tools">
        <p className="hint grow">{byTouch() ? tr('Tap and scroll in the page.') : tr('Click and type in the page. Shift+Esc gives it back to the agent.')}</p>
        {byTouch() && (
          <button className="button" onClick={() => box.current?.focus()}>
            {tr('Keyboard')}
          </button>
        )}
      </div>
    </>
  );
}
