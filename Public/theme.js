// The theme that was chosen in this browser, set before anything is drawn: the only script that pages wait for.
{
  let theme = null
  try { theme = localStorage.getItem('theme') } catch { /* Storage is switched off: the system's preference stands. */ }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}
