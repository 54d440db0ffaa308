// The parts of the player in the page, and what keys, mouse and fingers do.

const HELP = [
  ["space", "play or pause"], ["← →", "the message before, the next message"],
  ["shift ← →", "move the picture"], ["+ −", "zoom in, zoom out (also the mouse wheel, or two fingers)"],
  ["n p", "the next transaction, the one before"], ["f", "the next fault or stall"], ["e", "the next attempt that failed"],
  ["0", "the whole run"], ["[ ]", "slower, faster"], ["esc", "choose nothing"],
];

function buildParts(player) {
  const { root } = player, parts = (player.parts = {});
  root.replaceChildren();
  root.classList.add("simrep-player");
  root.tabIndex = 0;
  root.setAttribute("role", "application");
  root.setAttribute("aria-label", "Film of a simulated run");
  const head = element(root, "header");
  parts.title = element(head, "h2");
  parts.facts = element(head, "p", "facts");

  const bar = element(root, "div", "controls");
  const button = (name, text, title) => {
    const made = (parts[name] = element(bar, "button", "", text));
    made.type = "button";
    made.title = title;
    made.setAttribute("aria-label", title);
  };
  button("back", "←", "The message before (←)");
  button("play", "▶", "Play (space)");
  button("next", "→", "The next message (→)");
  parts.speed = element(bar, "select");
  parts.speed.setAttribute("aria-label", "Speed");
  for (const speed of SPEEDS) {
    const option = element(parts.speed, "option", "", `speed ${speed}×`);
    option.value = String(speed);
  }
  button("out", "−", "Zoom out (−)");
  button("in", "+", "Zoom in (+)");
  button("whole", "whole run", "The whole run (0)");
  button("event", "next event", "The next fault or stall (f)");
  button("failure", "next failure", "The next attempt that failed (e)");
  const clock = element(bar, "div", "clock");
  parts.time = element(clock, "output", "time");
  parts.span = element(clock, "span", "span");
  parts.pace = element(clock, "span", "pace");
  parts.writers = element(root, "p", "writers");

  parts.overview = element(root, "canvas", "overview");
  parts.overview.setAttribute("aria-label", "The whole run: commits, failures, stalls, faults and views");
  parts.stage = element(root, "div", "scene");
  parts.film = element(parts.stage, "canvas", "film");
  parts.film.setAttribute("aria-label", "Nodes, and the messages between them now");
  parts.picture = element(parts.stage, "canvas", "picture");
  parts.picture.setAttribute("aria-label", "Space-time diagram of the run");
  parts.tip = element(parts.stage, "div", "tip");
  parts.tip.hidden = true;
  parts.said = element(root, "p", "said");
  parts.said.setAttribute("aria-live", "polite");

  const legend = element(root, "div", "legend");
  const row = (name, title) => {
    const made = element(legend, "div", "row");
    element(made, "span", "head", title);
    parts[name] = element(made, "span", "chips");
    return made;
  };
  row("nodes", "Nodes");
  parts.kindsRow = row("kinds", "Messages");
  row("stagesRow", "Stages");
  row("marksRow", "Marks");

  const below = element(root, "div", "below");
  const left = element(below, "div", "left"), one = element(left, "section", "transaction");
  const line = element(one, "div", "line");
  parts.chosen = element(line, "h3");
  for (const [name, text, title] of [["earlier", "‹", "The transaction before (p)"], ["later", "›", "The next transaction (n)"], ["close", "×", "Choose none (esc)"]]) {
    parts[name] = element(line, "button", "", text);
    parts[name].type = "button";
    parts[name].title = title;
    parts[name].setAttribute("aria-label", title);
  }
  parts.error = element(one, "p", "error");
  parts.about = element(one, "p", "facts");
  parts.stages = element(one, "ol", "stages");
  const inView = element(left, "section", "in-view"), listed = element(inView, "div", "line");
  parts.listed = element(listed, "h3");
  parts.onlyFailed = element(listed, "button", "", "failed only");
  parts.onlyFailed.type = "button";
  parts.onlyFailed.setAttribute("aria-pressed", "false");
  parts.list = element(inView, "ol", "list");
  parts.list.setAttribute("aria-label", "Transactions in view");
  const two = element(below, "section", "happened");
  element(two, "h3", "", "What happened");
  parts.nothing = element(two, "p", "facts", "No fault, no stall of more than 100 ms, nothing that servers noted.");
  parts.notes = element(two, "ol", "notes");
  const help = element(root, "details", "help");
  element(help, "summary", "", "Keys");
  const keys = element(help, "dl");
  for (const [key, does] of HELP) {
    element(keys, "dt", "", key);
    element(keys, "dd", "", does);
  }
}

function listen(player) {
  const { parts, root } = player, stop = new AbortController();
  player.unlisten = () => stop.abort();
  const on = (target, name, call, how = {}) => target.addEventListener(name, call, { signal: stop.signal, ...how });
  on(parts.play, "click", () => player.toggle());
  on(parts.back, "click", () => player.step(-1));
  on(parts.next, "click", () => player.step(1));
  on(parts.in, "click", () => player.zoom(0.5));
  on(parts.out, "click", () => player.zoom(2));
  on(parts.whole, "click", () => player.lookAt(0, player.run.length * 1.02));
  on(parts.event, "click", () => nextEvent(player));
  on(parts.failure, "click", () => nextFailure(player));
  on(parts.onlyFailed, "click", () => player.panel.listFailed());
  on(parts.speed, "change", () => player.setSpeed(Number(parts.speed.value)));
  on(parts.close, "click", () => player.choose(-1));
  on(parts.later, "click", () => neighbour(player, 1));
  on(parts.earlier, "click", () => neighbour(player, -1));
  on(root, "keydown", (event) => press(player, event));
  on(parts.picture, "wheel", (event) => {
    // In a page that scrolls, the wheel zooms only where the player has been used.
    if (!event.ctrlKey && !player.options.wheel && !root.contains(document.activeElement)) return;
    event.preventDefault();
    const width = player.span, room = player.picture.width;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      player.lookAt(player.from + ((event.deltaX || event.deltaY) / room) * width, width);
    } else player.zoom(Math.exp(Math.sign(event.deltaY) * Math.min(0.6, Math.abs(event.deltaY) / 300)), player.picture.time(event.offsetX));
  }, { passive: false });
  fingers(player, on);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  on(dark, "change", () => redraw(player));
  on(window, "beforeprint", () => { root.classList.add("printed"); redraw(player); });
  on(window, "afterprint", () => { root.classList.remove("printed"); redraw(player); });
}

function redraw(player) {
  if (!player.run) return;
  player.resize();
  player.panel.fillFilters();
  player.panel.tellChosen();
}

// One finger moves the picture, two zoom it; a touch or click without a move chooses.
function fingers(player, on) {
  const { picture: canvas } = player.parts, down = new Map();
  let moved = false;
  on(canvas, "pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, [event.offsetX, event.offsetY]);
    moved = down.size > 1;
    player.root.focus({ preventScroll: true });
  });
  on(canvas, "pointermove", (event) => {
    const { picture } = player, here = [event.offsetX, event.offsetY];
    if (!down.has(event.pointerId)) {
      const found = picture.find(...here);
      player.hover = found;
      canvas.style.cursor = found ? "pointer" : "grab";
      player.panel.tip(found, canvas.offsetLeft + here[0], canvas.offsetTop + here[1]);
      player.changed();
      return;
    }
    const before = down.get(event.pointerId);
    if (!moved && Math.abs(here[0] - before[0]) < 5) return;
    moved = true;
    player.panel.tip(null);
    const others = [...down].filter(([id]) => id !== event.pointerId);
    down.set(event.pointerId, here);
    const width = player.span, plot = picture.width - picture.gutter;
    if (!others.length) player.lookAt(player.from - ((here[0] - before[0]) / plot) * width, width);
    else {
      const other = others[0][1][0];
      const was = Math.max(20, Math.abs(before[0] - other)), is = Math.max(20, Math.abs(here[0] - other));
      player.zoom(was / is, picture.time((here[0] + other) / 2));
    }
  });
  on(canvas, "pointerup", (event) => {
    const before = down.get(event.pointerId);
    down.delete(event.pointerId);
    if (!before || moved) return;
    const here = [event.offsetX, event.offsetY], found = player.picture.find(...here);
    player.hover = found;
    player.panel.tip(found, canvas.offsetLeft + here[0], canvas.offsetTop + here[1]);
    if (!found) {
      player.goTo(Math.max(0, player.picture.time(here[0])));
      return;
    }
    player.panel.say(`${player.panel.wordsOf(found).join(". ")}.`);
    const about = found.message >= 0 ? player.run.messages.about(found.message) : [found.group.of];
    if (about.length && about[0] >= 0 && !about.includes(player.chosen)) {
      player.chosen = about[0];
      player.panel.tellChosen();
      player.changed();
    }
  });
  on(canvas, "pointercancel", (event) => down.delete(event.pointerId));
  on(canvas, "pointerleave", () => {
    if (down.size) return;
    player.hover = null;
    player.panel.tip(null);
    player.changed();
  });
}

function press(player, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !player.run) return;
  const inside = event.target.tagName;
  if (inside === "SELECT" || (event.key === " " && (inside === "BUTTON" || inside === "SUMMARY"))) return;
  const width = player.span;
  const speed = SPEEDS.indexOf(player.speed);
  const calls = {
    " ": () => player.toggle(),
    ArrowLeft: () => (event.shiftKey ? player.lookAt(player.from - width / 4, width) : player.step(-1)),
    ArrowRight: () => (event.shiftKey ? player.lookAt(player.from + width / 4, width) : player.step(1)),
    "+": () => player.zoom(0.5), "=": () => player.zoom(0.5), "-": () => player.zoom(2),
    n: () => neighbour(player, 1), p: () => neighbour(player, -1), f: () => nextEvent(player), e: () => nextFailure(player),
    0: () => player.lookAt(0, player.run.length * 1.02),
    "[": () => player.setSpeed(SPEEDS[Math.max(0, speed - 1)]),
    "]": () => player.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, speed + 1)]),
    Home: () => player.goTo(0), End: () => player.goTo(player.run.length),
    Escape: () => player.choose(-1),
  };
  if (!calls[event.key]) return;
  event.preventDefault();
  calls[event.key]();
}

// The transaction that ends next, or before.
function neighbour(player, direction) {
  const { transactions } = player.run;
  if (!transactions.count) return;
  let place = player.chosen >= 0 ? player.chosen + direction : above(transactions.ended, player.at) - (direction < 0 ? 1 : 0);
  place = Math.min(transactions.count - 1, Math.max(0, place));
  player.choose(place);
}

// The attempt that fails next, of a transaction or of a connection; after the last one, the first.
function nextFailure(player) {
  const { run } = player, groups = run.groups.all.filter((one) => one.error);
  if (!groups.length) return;
  groups.sort((a, b) => a.ended - b.ended || a.of - b.of);
  const last = groups.findIndex((one) => one === player.failure);
  const from = last >= 0 && Math.abs(player.at - groups[last].ended) < 1e-9 ? last + 1 : groups.findIndex((one) => one.ended > player.at);
  player.showFailure(groups[from >= 0 && from < groups.length ? from : 0]);
}

function nextEvent(player) {
  const { run } = player;
  const listed = [
    ...run.events.filter((one) => !one.load).map((one) => [one.at, NaN]),
    ...run.quiet.map((one) => [one.at, one.until]),
  ].sort((a, b) => a[0] - b[0]);
  if (!listed.length) return;
  const next = listed.find(([at]) => at > player.at + 1e-6) || listed[0];
  if (next[1] > next[0]) player.show(...next);
  else player.goTo(next[0]);
}
