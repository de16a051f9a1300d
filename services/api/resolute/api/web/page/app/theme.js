// A classic script that runs before the first paint, so that no page flashes in the other theme.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let chosen = "system";
    try {
      chosen = localStorage.getItem("resolute.theme") ?? "system";
    } catch {
      // storage is switched off: the theme of the system
    }
    const dark = chosen === "dark" || (chosen !== "light" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("resolute-theme", apply);
})();
