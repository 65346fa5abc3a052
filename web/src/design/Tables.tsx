import DOMPurify from 'dompurify';
import { useMemo } from 'react';
import { showTexts } from './visible';
import './markdown.css';

const purifier = DOMPurify(window);

// mostRows is how many rows of a text with tables are drawn.
const mostRows = 1000;

// Tables shows the tables of a stranger's HTML, such as a DataFrame of pandas: words in rows and
// cells, without links, styles, pictures and scripts.
export function Tables({ html }: { html: string }) {
  const clean = useMemo(() => tablesIn(html), [html]);
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: clean }} />;
}

function tablesIn(html: string): string {
  const body = purifier.sanitize(html, {
    ALLOWED_TAGS: ['table', 'caption', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'p', 'br'],
    ALLOWED_ATTR: ['colspan', 'rowspan'],
    RETURN_DOM: true,
  }) as HTMLElement;
  for (const row of [...body.querySelectorAll('tr')].slice(mostRows)) row.remove();
  for (const head of body.querySelectorAll('th')) if (head.textContent.trim() === '') head.replaceWith(document.createElement('td')); // it heads nothing
  for (const table of body.querySelectorAll('table')) table.setAttribute('tabindex', '0'); // a wide one scrolls, by keys as well
  showTexts(body);
  return body.innerHTML;
}
