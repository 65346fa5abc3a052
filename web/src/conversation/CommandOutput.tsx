import { useLayoutEffect, useMemo, useRef } from 'react';
import { Ansi } from '../design/Ansi';
import { coloured, ending, overwritten, useLiveOutput } from '../events/output';
import { Output } from './Output';
import { tr } from '../i18n/text';
import '../design/ansi.css';

// drawn is how much of a running command's output is drawn, in characters.
const drawn = 20_000;

interface Props {
  action: string;
  running: boolean;
  result: string | null;
  styles: string; // of the result
}

// CommandOutput is the output of a command while it runs, and then its result, with colours.
export function CommandOutput({ action, running, result, styles }: Props) {
  const live = useLiveOutput(action, running);
  const whole = useMemo(() => (result === null ? null : coloured(result, styles)), [result, styles]);
  if (whole !== null) return <Output text={whole} />;
  if (!running) return null;
  return live ? <Growing text={live.text} cut={live.cut} label={tr('Output so far')} hint={tr('The end of what the command has printed so far.')} /> : <p className="hint">{tr('No output yet')}</p>;
}

interface GrowingProps {
  text: string;
  cut: boolean; // it has lost its beginning
  label: string;
  hint: string; // says that only the end of the text is shown
}

// Growing is a text whose end stays in view until its user scrolls up.
export function Growing({ text, cut, label, hint }: GrowingProps) {
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
      {(cut || text.length > drawn) && <p className="hint">{hint}</p>}
      <pre ref={box} className="code output" tabIndex={0} role="group" aria-label={label} onScroll={onScroll}>
        <Ansi text={overwritten(ending(text, drawn))} />
      </pre>
    </>
  );
}
