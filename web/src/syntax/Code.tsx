import { useLayoutEffect, useRef, type ComponentProps } from 'react';
import { colour, textOf } from './paint';

// Code shows code in the colours of its language.
export function Code({ text, language, className = 'code', ...rest }: { text: string; language: string } & Omit<ComponentProps<'pre'>, 'children' | 'ref'>) {
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    const shown = box.current; // its text may have other characters
    return shown ? colour({ text: shown.textContent, language }, () => textOf(shown)) : undefined;
  }, [text, language]);
  return (
    <pre ref={box} className={className} tabIndex={0} {...rest}>
      {text}
    </pre>
  );
}
