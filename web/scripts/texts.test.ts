// Every text of the page goes through the catalogue: this reads the sources. It is here as
// only tests of the page's own modules are in src.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { de } from '../src/i18n/de';

const root = join(import.meta.dirname, '../src');

// Texts for the model, which are the same in all languages, and names.
const allowed = ['Carry out the plan in .agents_tmp/PLAN.md.', 'Attached files: 0', 'Deft', 'DEPLOY_TOKEN', 'GitHub', 'GitLab', 'Bitbucket', 'Forgejo'];

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.ts$|generated|^i18n\/(?:de|nodes)/.test(name))
  .map((name) => ts.createSourceFile(name, readFileSync(join(root, name), 'utf8'), ts.ScriptTarget.Latest, true, name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS));

const attributes = new Set(['aria-label', 'title', 'placeholder', 'alt', 'label', 'sendLabel', 'button']);
const properties = new Set(['label', 'title', 'hint', 'verb', 'group', 'detail']);
const word = /\p{L}{2,}/u;
const sentence = (text: string) => /^(?:[A-Z“‘][\p{L}’']*|0)[ ,]/u.test(text) && /\p{L}{2,} \p{L}{2,}/u.test(text);

// plain is a literal as one text, with 0 for inserted values; null for other nodes.
function plain(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node)) return node.head.text + node.templateSpans.map((span) => `0${span.literal.text}`).join('');
  return null;
}

// literals are the texts that an expression may be.
function literals(node: ts.Expression): ts.Expression[] {
  if (ts.isParenthesizedExpression(node)) return literals(node.expression);
  if (ts.isConditionalExpression(node)) return [...literals(node.whenTrue), ...literals(node.whenFalse)];
  if (ts.isBinaryExpression(node) && ['||', '??', '&&'].includes(node.operatorToken.getText())) return [...literals(node.left), ...literals(node.right)];
  return plain(node) === null ? [] : [node];
}

// bareTexts finds texts for people that do not go through `tr`, `trNodes` or `plural`.
function bareTexts(file: ts.SourceFile): string[] {
  const found = new Set<string>();
  const take = (text: string) => {
    if (word.test(text.replaceAll('0', '')) && !allowed.includes(text)) found.add(`${file.fileName}: ${text}`);
  };
  const visit = (node: ts.Node) => {
    if (ts.isImportDeclaration(node) || ts.isLiteralTypeNode(node)) return;
    if (ts.isCallExpression(node) && /^(?:tr|trNodes|plural)$/.test(node.expression.getText())) return node.arguments.slice(node.expression.getText() === 'plural' ? 3 : 1).forEach(visit);
    if (ts.isJsxElement(node) && /^(?:code|kbd)$/.test(node.openingElement.tagName.getText())) return;
    if (ts.isJsxText(node)) take(node.text.trim());
    if (ts.isJsxExpression(node) && node.expression && !ts.isJsxAttribute(node.parent)) literals(node.expression).forEach((l) => take(plain(l) ?? ''));
    if (ts.isJsxAttribute(node) && attributes.has(node.name.getText()) && node.initializer) {
      const value = ts.isJsxExpression(node.initializer) ? node.initializer.expression : (node.initializer as ts.StringLiteral);
      if (value) literals(value).forEach((l) => take(plain(l) ?? ''));
    }
    if (ts.isPropertyAssignment(node) && properties.has(node.name.getText())) literals(node.initializer).forEach((l) => /^[A-Z“]| /.test(plain(l) ?? '') && take(plain(l) ?? ''));
    if (ts.isBindingElement(node) && node.initializer && attributes.has(node.name.getText())) literals(node.initializer).forEach((l) => take(plain(l) ?? ''));
    const text = plain(node);
    if (text !== null && sentence(text)) take(text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return [...found];
}

interface Used {
  file: string;
  forms: boolean;
}

// used are the English texts of the sources.
function used(): Map<string, Used[]> {
  const all = new Map<string, Used[]>();
  for (const file of files) {
    const visit = (node: ts.Node) => {
      if (ts.isCallExpression(node) && /^(?:tr|trNodes|plural)$/.test(node.expression.getText())) {
        const forms = node.expression.getText() === 'plural';
        const at = node.arguments[forms ? 2 : 0];
        const found = at ? literals(at) : [];
        if (found.length === 0) throw new Error(`${file.fileName}: a text that is no literal: ${node.getText()}`);
        for (const one of found) all.set(plain(one) ?? '', [...(all.get(plain(one) ?? '') ?? []), { file: file.fileName, forms }]);
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return all;
}

// unfilled are the texts whose places are not those that the call fills.
function unfilled(file: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isCallExpression(node) && /^(?:tr|trNodes|plural)$/.test(node.expression.getText())) {
      const forms = node.expression.getText() === 'plural';
      const values = node.arguments[forms ? 3 : 1];
      const given = values && ts.isObjectLiteralExpression(values) ? values.properties.map((p) => `{${p.name?.getText()}}`) : [];
      if (forms) given.push('{n}');
      const at = node.arguments[forms ? 2 : 0];
      for (const one of at && (!values || ts.isObjectLiteralExpression(values)) ? literals(at) : []) {
        if (placeholders(plain(one) ?? '').some((place) => !given.includes(place))) found.push(`${file.fileName}: ${plain(one)}`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();

describe('texts', () => {
  it('go through the catalogue', () => {
    expect(files.length).toBeGreaterThan(80);
    expect(files.flatMap(bareTexts)).toEqual([]);
  });

  it('are found by this test', () => {
    const source = `const a = <p title="Bare title">Bare text {n > 1 ? 'many' : tr('one')} {\`of \${m}\`}<code>name</code></p>;
      const b = [{ label: 'Bare label', name: 'files' }]; fail('A bare sentence.'); const e = ({ label = 'Bare default' }) => label; const c = tr('A text', { x: \`And \${d} too\` });`;
    const file = ts.createSourceFile('x.tsx', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
    expect(bareTexts(file).map((t) => t.slice(7))).toEqual(['Bare title', 'Bare text', 'many', 'of 0', 'Bare label', 'A bare sentence.', 'Bare default']);
  });

  it('are given what is put into them', () => {
    expect(files.flatMap(unfilled)).toEqual([]);
    const file = ts.createSourceFile('x.tsx', "tr('Back to {commit}', { checkout: 1 }); tr('To {n}', { n: 1 }); plural(1, 'a', '{n} of {all}', { all })", ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
    expect(unfilled(file)).toEqual(['x.tsx: Back to {commit}']);
  });

  it('are in German, and nothing else is', () => {
    const all = used();
    const missing = [...all].filter(([text]) => !(text in de));
    expect(missing.map(([text, uses]) => `${uses[0]?.file}: ${text}`)).toEqual([]);
    expect(Object.keys(de).filter((text) => !all.has(text))).toEqual([]);
  });

  it('have the same places in all languages', () => {
    const all = used();
    for (const [text, found] of Object.entries(de)) {
      expect(typeof found === 'object', text).toBe(all.get(text)?.[0]?.forms);
      for (const form of typeof found === 'object' ? [found.other] : [found]) expect(placeholders(form), text).toEqual(placeholders(text));
    }
  });
});
