import Anser from 'anser';
import { memo } from 'react';
import { ansiClasses } from './ansiClasses';

// Ansi shows output of a program with the colours that it asked for. All other
// escape sequences are removed.
export const Ansi = memo(function Ansi({ text }: { text: string }) {
  if (!text.includes('\u001b')) return <>{text}</>;
  const parts = Anser.ansiToJson(text.replace(otherSequences, ''), { use_classes: true, remove_empty: true });
  return (
    <>
      {parts.map((part, i) => (
        <span key={i} className={ansiClasses(part) || undefined}>
          {part.content}
        </span>
      ))}
    </>
  );
});

// Sequences that set a title or move the cursor.
const otherSequences = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-9;?]*[A-LN-Za-ln-z]|\u001b[()][0-9A-Z]/g;

const styles = /\u001b\[[\d;:]*m/g;

// withoutEscapes is the text of such an output.
export const withoutEscapes = (text: string): string => text.replace(otherSequences, '').replace(styles, '');
