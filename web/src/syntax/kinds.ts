// The kinds of words in code that have a colour of their own, and the classes with which
// highlight.js marks them. syntax.css has the colours.
export const kinds = ['plain', 'comment', 'keyword', 'string', 'number', 'name', 'type', 'attribute', 'deleted', 'inserted'] as const;

export type Kind = (typeof kinds)[number];

const classes: Partial<Record<Kind, string>> = {
  plain: 'subst', // code within a string
  comment: 'comment quote meta',
  keyword: 'keyword doctag selector-tag template-tag operator',
  string: 'string regexp char code link',
  number: 'number literal symbol bullet',
  name: 'title section name selector-id selector-class',
  type: 'type built_in class selector-pseudo',
  attribute: 'attr attribute property variable template-variable selector-attr',
  deleted: 'deletion',
  inserted: 'addition',
};

export const kindOf: ReadonlyMap<string, Kind> = new Map(kinds.flatMap((kind) => (classes[kind] ?? '').split(' ').map((name) => [name, kind] as const)));
