import { parseAst } from 'vite';

// eager puts large functions that a script passes on, such as CommonJS modules (React), into
// parentheses. V8 then compiles them as it reads the script, beside the main thread, and not once
// more when they are called.
export function eager(code) {
  const found = [];
  const look = (node) => {
    if (Array.isArray(node)) return node.forEach(look);
    if (!node || typeof node !== 'object' || /Function/.test(node.type ?? '')) return;
    if (node.type === 'CallExpression') found.push(...node.arguments.filter((one) => /Function/.test(one.type) && one.end - one.start > 1000));
    Object.values(node).forEach(look);
  };
  look(parseAst(code).body);
  let text = code;
  for (const { start, end } of found.sort((a, b) => b.start - a.start)) {
    // V8 looks for "(function" only. No such module has a `this`.
    const own = text.slice(start, end).replace(/^\(?([\w$, ]*)\)?\s*=>\s*(?=\{)/, 'function($1)');
    text = `${text.slice(0, start)}(${own})${text.slice(end)}`;
  }
  return text;
}
