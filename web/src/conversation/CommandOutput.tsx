import { useLayoutEffect, useMemo, useRef } from 'react';
import { Ansi } from '../design/Ansi';
import { coloured, ending, overwritten, useLiveOutput } from '../events/output';
import { Output } from './Output';
import { tr } from '../i18n/text';
import '../design/ansi.css';

// drawn is how much of a running command's output is drawn, in characters.
const drawn = 20_000;

// CommandOutput is the output of a command while it runs, and then its result: with colours
// if this page has seen all of it, else as it is stored.
export function CommandOutput({ action, running, result }: { action: string; running: boolean; result: string | null }) {
  const live = useLiveOutput(action, running);
  const whole = useMemo(() => (result === null ? null : coloured(live, result)), [live, result]);
  if (result !== null) return <Output text={whole ?? result} />;
  if (!running) return null;
  return live ? <Growing text={live.text} cut={live.cut} /> : <p className="hint">{tr('No output yet')}</p>;
}

// Growing is a text whose end stays in view until its user scrolls up.
function Growing({ text, cut }: { text: string; cut: boolean }) {
  const box = useRef<HTMLPreElement>(null);
  const following = useRef(true);
  useLayoutEffect(() => {
    if (box.current && following.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const onScroll = () => {
    const b = box.current;
    if (b) following.current = b.scrollHeight - b.clientHeight - b.scrollTop < 8;
  };
  return (
    <>
      {(cut || text.length > drawn) && <p className="hint">{tr('The end of what the command has printed so far.')}</p>}
      <pre ref={box} className="code output" tabIndex={0} role="region" aria-label={tr('Output so far')} onScroll={onScroll}>
        <Ansi text={overwritten(ending(text, drawn))} />
      </pre>
    </>
  );
}
