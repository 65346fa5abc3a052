// Sets the chosen theme before the first paint. A file of its own: the page's
// policy allows no inline script.
try {
  const theme = localStorage.getItem('deft.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme is used.
}
