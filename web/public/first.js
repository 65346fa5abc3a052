// Runs before the first paint, as a file of its own: the page's policy allows no inline
// script. It sets the chosen theme and language, and asks for what the page needs first while its
// scripts are loaded; src/api/early.ts takes the answers.
try {
  const theme = localStorage.getItem('deft.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme is used.
}
{
  // The language is the one chosen in this browser, or the first of the browser's that there
  // is: src/i18n/text.ts takes it from here.
  const languages = { en: '', de: '' }; // with the files of their texts, from the build
  let wanted = [...navigator.languages];
  try {
    wanted = [localStorage.getItem('deft.language') ?? '', ...wanted];
  } catch {
    // Without storage the browser's languages are used.
  }
  const language = wanted.map((name) => name.slice(0, 2).toLowerCase()).find((name) => Object.hasOwn(languages, name)) ?? 'en';
  document.documentElement.lang = language;

  const path = location.pathname;
  const conversation = /^\/conversations\/([\w-]+)/.exec(path)?.[1];
  const chunks = []; // those of a conversation's page, from the build
  // Shared pages need no sign-in; a link that signs in has to do that first.
  if (!path.startsWith('/shared/') && !location.hash.startsWith('#login=')) {
    const v1 = '/api/v1';
    const paths = [`${v1}/app-conversations/count`, `${v1}/app-conversations/search?limit=50`];
    if (path === '/') paths.push(`${v1}/settings`);
    if (conversation) {
      paths.push(`${v1}/app-conversations?ids=${conversation}`);
      const events = `${v1}/conversation/${conversation}/events`;
      paths.push(`${events}/search?limit=100&sort_order=TIMESTAMP_DESC&own_kinds=true`);
      // A link to an event shows what is around it.
      const at = new URLSearchParams(location.search).get('event')?.replace(/:thought$/, '');
      if (at) {
        for (const order of ['TIMESTAMP_DESC', 'TIMESTAMP']) paths.push(`${events}/search?${new URLSearchParams({ page_id: at, limit: 100, sort_order: order, own_kinds: true })}`);
        paths.push(`${events}/place?${new URLSearchParams({ event_id: at })}`);
      }
    }
    let answers;
    window.deftEarly = () =>
      (answers ??= new Map(
        paths.map((asked) => {
          // Their text is read meanwhile, too.
          const answer = fetch(asked).then(async (head) => ({ head, text: await head.text() }));
          answer.catch(() => {}); // whoever takes it sees the failure
          return [asked, answer];
        }),
      ));
  }

  // The first paint need not wait for this.
  setTimeout(() => {
    window.deftEarly?.();
    for (const href of [...(languages[language] ? [languages[language]] : []), ...(conversation ? chunks : [])]) {
      const link = document.createElement('link');
      link.rel = href.endsWith('.css') ? 'preload' : 'modulepreload';
      if (link.rel === 'preload') link.as = 'style';
      link.crossOrigin = '';
      link.href = href;
      document.head.append(link);
    }
  });
}
