// A page of its own: its documents lie in it, compressed, and one of them is shown.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const { element } = SimrepPlayer;

async function startPage() {
  const runs = [...document.querySelectorAll("script[data-run]")], choice = document.getElementById("run");
  const player = new SimrepPlayer(document.getElementById("player"), null, { wheel: true });
  window.player = player;
  for (const one of runs) element(choice, "option", "", one.dataset.run);
  document.getElementById("runs").hidden = runs.length < 2;
  const show = async () => {
    player.load(await unpacked(runs[choice.selectedIndex].textContent));
    performance.mark("shown");
    player.root.focus({ preventScroll: true });
  };
  choice.addEventListener("change", show);
  await show();
}

startPage();
