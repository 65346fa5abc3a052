import { useLayoutEffect, useRef, type ComponentProps } from 'react';
import { colour, textOf } from './paint';

// Code shows code in the colours of its language.
export function Code({ text, language, className = 'code', ...rest }: { text: string; language: string } & Omit<ComponentProps<'pre'>, 'children' | 'ref'>) {
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => colour({ text, language }, () => (box.current ? textOf(box.current) : [])), [text, language]);
  return (
    <pre ref={box} className={className} tabIndex={0} {...rest}>
      {text}
    </pre>
  );
}
