// Runs before anything is painted: the theme that was chosen, or the system's.
try {
  const theme = localStorage.getItem('phonebooth.theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch {
  // storage is forbidden: the system's theme it is
}
