// Applies the stored theme before the first rendering. This is the only script that blocks rendering.
{
  let theme = null
  try { theme = localStorage.getItem('theme') } catch { /* Without storage, the system preference applies. */ }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}
