import { memo, useContext, useMemo, useState, type ReactNode } from 'react';
import { beginning, firstDrawn } from './beginning';
import { enough, FoundContext } from './found';
import { GrowingMarkdown, Markdown } from './Markdown';
import { plural, tr } from '../i18n/text';

// Long draws the beginning of a text, and more of it when it is wanted: each cell of a table
// costs time with each key.
export function Long({ text, draw }: { text: string; draw: (text: string) => ReactNode }) {
  const [limit, setLimit] = useState(firstDrawn);
  const found = useContext(FoundContext);
  const part = useMemo(() => {
    const first = beginning(text, limit);
    return enough(first.text, text, found) ? first : { text, left: 0 };
  }, [text, limit, found]);
  return (
    <>
      {draw(part.text)}
      {part.left > 0 && (
        <p className="hint">
          {plural(part.left, '1 more line', '{n} more lines')}{' '}
          <button className="link" onClick={() => setLimit(limit * 4)}>
            {tr('Show more')}
          </button>
        </p>
      )}
    </>
  );
}

const whole = (text: string) => <Markdown text={text} />;
const growing = (text: string) => <GrowingMarkdown text={text} />;

export const LongMarkdown = memo(function LongMarkdown({ text }: { text: string }) {
  return <Long text={text} draw={whole} />;
});

// LongGrowingMarkdown is LongMarkdown for a text that is still being written.
export const LongGrowingMarkdown = ({ text }: { text: string }) => <Long text={text} draw={growing} />;
