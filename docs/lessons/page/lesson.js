// A lesson: what the reader expects, the running cluster, and what he changes in it.
"use strict";

const make = (name, traits = {}, ...inside) => {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(traits)) {
    if (key.startsWith("on")) one.addEventListener(key.slice(2), value);
    else if (value === true) one.setAttribute(key, "");
    else if (value !== false && value !== null) one.setAttribute(key, value);
  }
  one.append(...inside);
  return one;
};

// What a line of a log means; of lines that need no word there is none. {of}: whom the line is about.
const MEANINGS = {
  Galera: {
    "closed by the kernel": "The kernel of the dead server closes its connections. That alone removes nobody.",
    "closed in silence": "No answer on the connection for about 3 s. That alone removes nobody.",
    suspect: "Nothing new has come from {of} for evs.suspect_timeout. Each node checks only every 0.5 s (evs.inactive_check_period), so this comes up to 0.5 s late. The node sends a join message.",
    "suspect too": "This node checks later, and suspects too. But this check sends no message: the other learns of it only when the join messages are repeated.",
    "suspect alone": "This node is cut off, so nothing new comes from the others either. It is the first on its side of the cut.",
    "suspect alive": "{of} is alive. While the nodes agree on a view, {of} says something new only when it repeats its join message, once a second (evs.join_retrans_period). A short evs.suspect_timeout takes that for silence. The suspicion ends with the next message of {of}.",
    stable: "The nodes have agreed who is alive, and this list is the new view. Join messages are repeated once a second (evs.join_retrans_period), and only a repeated one tells a node that the others agree.",
    primary: "The nodes of the view are a majority and have the same data: they are the primary component. Commits go on.",
    "non-primary": "This part is no majority of the last primary component: it commits nothing.",
  },
  "Group Replication": {
    wave: "The others give the silent member some time in each round, then fill its places with nothing.",
    suspect: "No message for 5 s: the member is unreachable. It is still a member, so nothing else changes.",
    expel: "group_replication_member_expel_timeout is over. A thread looks only once in 15 s, so this comes late.",
    stable: "The group goes on without it.",
    elected: "A new primary.",
    writable: "Writes go on.",
  },
  "Semi-synchronous": {
    suspect: "The manager polls every 5 s, so this comes up to 5 s after the fault.",
    "manager-takes-for-gone": "Now it asks the replicas. It acts when it has found twice, 1 s apart, that none is connected to the source.",
    "manager-waits": "A replica still holds its connection to the source, and the manager takes that as a sign of life.",
    "manager-decides": "It picks the replica that has received most.",
    async: "Semi-synchronous replication is off now. From here on clients are told of commits that no replica has.",
    promoted: "Writes go on, on another server.",
  },
};
const BROKEN = { kill: "killed", cut: "cut off", "power-loss": "loses power", promote: "promoted", restart: "starts again" };

const lesson = { info: null, run: null, faults: [], cursor: 0, playing: false, speed: 1, asked: 0, tried: [], panels: [] };
const lab = document.getElementById("lab");
const said = (words) => { document.getElementById("engine").textContent = words; };
const seconds = (value) => `${value.toFixed(value < 10 ? 1 : 0)} s`;

function simrepFirst(info) {
  Object.assign(lesson, { info, run: info.run, faults: info.faults.map((one) => ({ ...one })) });
  build();
  show();
  performance.mark("first picture");
  said("Loading the engine: about 11 MB, once.");
  Engine.start().then(
    (took) => { said(`The engine is ready, after ${seconds(took)}. All runs are simulated in this page.`); lab.dataset.ready = took; },
    (error) => said(`The engine does not start here (${error.message}): you see the runs that came with the page.`),
  );
}

// ------------------------------------------------------------------ controls

function build() {
  const { info } = lesson;
  lab.append(
    make("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, ...info.controls.map(control)),
    transport(),
    ...(info.breakable ? [breaking()] : []),
    make("div", { class: "clusters" }),
    make("div", { class: "tried", hidden: true }),
  );
}

function control(one) {
  const id = `set-${one.name}`;
  if (typeof one.start === "string") {
    const list = make("select", { id, "data-name": one.name, onchange: again },
      ...one.values.map(([value, words]) => make("option", { value, selected: value === one.start }, words)));
    return make("div", { class: "control" }, make("label", { for: id }, one.label), list);
  }
  const words = (place) => `${one.values[place].toLocaleString("en")} ${one.unit || ""}`.trim();
  const start = one.values.indexOf(one.start);
  const told = make("output", { for: id }, words(start));
  const slider = make("input", {
    id, type: "range", min: 0, max: one.values.length - 1, step: 1, value: start, "data-name": one.name,
    "aria-valuetext": words(start),
    oninput: ({ target }) => { told.textContent = words(target.value); target.setAttribute("aria-valuetext", words(target.value)); },
    onchange: again,
  });
  return make("div", { class: "control" }, make("label", { for: id }, one.label, " ", told), slider);
}

function settings() {
  const found = {};
  for (const one of lesson.info.controls) {
    const { value } = document.getElementById(`set-${one.name}`);
    found[one.name] = typeof one.start === "string" ? value : one.values[value];
  }
  return found;
}

// Puts the sliders and lists where they began.
function reset() {
  for (const one of lesson.info.controls) {
    const set = document.getElementById(`set-${one.name}`);
    set.value = typeof one.start === "string" ? one.start : one.values.indexOf(one.start);
    set.dispatchEvent(new Event("input"));
  }
}

function transport() {
  return make("div", { class: "transport" },
    make("button", { type: "button", id: "play", class: "main", onclick: toggle }, "Play"),
    make("button", { type: "button", onclick: () => { pause(); move(length()); } }, "To the end"),
    make("label", { class: "time" }, make("span", {}, "Time "), make("output", { id: "clock" }, "0.0 s"),
      make("input", { id: "cursor", type: "range", min: 0, max: 1000, value: 0, "aria-label": "Time of the run",
        oninput: ({ target }) => { pause(); move((target.value / 1000) * length()); } })),
    make("label", {}, "Speed ", make("select", { id: "speed", onchange: ({ target }) => { lesson.speed = +target.value; } },
      ...[0.1, 0.5, 1, 3, 10].map((one) => make("option", { value: one, selected: one === 1 }, `${one} x`)))),
  );
}

function breaking() {
  const node = make("select", { id: "node", "aria-label": "Which node" }, ...["n1", "n2", "n3"].map((one) => make("option", { value: one }, one)));
  const button = (words, call) => make("button", { type: "button", onclick: () => call(node.value) }, words);
  const at = () => Math.max(0.5, Math.min(length() - 0.5, Math.round(lesson.cursor * 100) / 100));
  const set = (one) => { lesson.faults.push(one); again({ keep: true }); };
  const open = (name, words) => lesson.faults.find((one) => one.node === name && words.includes(one.what) && !one.until_s && one.at_s < at());
  return make("div", { class: "breaking" },
    make("span", {}, "Move ", make("b", {}, "Time"), " above, then: "), node,
    button("Kill", (name) => set({ what: "kill", node: name, at_s: at() })),
    button("Cut off", (name) => set({ what: "cut", node: name, at_s: at() })),
    button("Heal the cut", (name) => { const cut = open(name, ["cut"]); if (cut) { cut.until_s = at(); again({ keep: true }); } else note(`${name} is not cut off now.`); }),
    button("Start again", (name) => { if (open(name, ["kill", "power-loss"])) set({ what: "restart", node: name, at_s: at() }); else note(`${name} is not down now.`); }),
    make("button", { type: "button", onclick: () => { lesson.faults = []; again({ plays: false }); } }, "No faults"),
    make("button", { type: "button", onclick: () => { lesson.faults = lesson.info.faults.map((one) => ({ ...one })); reset(); again({ plays: false }); } }, "As at first"),
    make("p", { id: "faults", class: "hint" }), make("p", { id: "note", role: "status", class: "hint" }),
  );
}

function note(words) {
  const place = document.getElementById("note");
  if (place) place.textContent = words;
}

// ---------------------------------------------------------------------- runs

async function again({ keep = false, plays = true } = {}) {
  const turn = ++lesson.asked;
  const before = lesson.faults.map((one) => ({ ...one }));
  const { cursor, run: shown, faultsOfRun } = lesson;
  pause();
  note("");
  lab.classList.add("busy");
  said("Simulating ...");
  try {
    const given = [lesson.info.run.lab, settings(), before];
    let run = null, took = 0;
    do { // one cluster after the other, each shown as it ends
      const { value, seconds: more } = await Engine.ask("play", ...given, run ? run.clusters.length : 0);
      if (turn !== lesson.asked) return;
      took += more;
      run = run ? { ...run, clusters: [...run.clusters, ...value.clusters] } : value;
      lesson.run = run;
      lesson.faultsOfRun = before;
      lab.classList.remove("busy");
      show();
      if (run.clusters.length < run.count) {
        move(length());
        said(`Simulated ${run.clusters.length} of ${run.count} clusters: ${run.clusters.at(-1).title} ends after ${seconds(took)} ...`);
      }
    } while (run.clusters.length < run.count);
    const commits = run.clusters.reduce((sum, one) => sum + one.error.filter((error) => !error).length, 0);
    said(`Simulated ${commits.toLocaleString("en")} commits in ${seconds(took)}, in this page.${plays ? "" : " Press Play."}`);
    move(keep ? cursor : 0);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) move(length()); else if (plays) toggle();
  } catch (error) {
    if (turn !== lesson.asked) return;
    lesson.faults = (faultsOfRun || lesson.info.faults).map((one) => ({ ...one }));
    if (lesson.run !== shown) { Object.assign(lesson, { run: shown, faultsOfRun, cursor }); show(); }
    said("The engine refuses this run.");
    note(`This cannot be simulated: ${error.message}`);
  } finally {
    if (turn === lesson.asked) lab.classList.remove("busy");
  }
}

const length = () => Math.max(...lesson.run.clusters.map((one) => one.end_s));

function plotWidth() {
  const { clientWidth } = lab.querySelector(".clusters");
  return Math.max(300, Math.min(620, clientWidth - (clientWidth > 700 ? 320 : 24)));
}

function plots(run) {
  const { views, bin_s } = lesson.info, wide = plotWidth();
  return views.filter((view) => view === "rate" || view === "waits").map((view) => (view === "rate" ? Draw.rate(run, bin_s, wide) : Draw.waits(run, wide)));
}

// For another width: what the reader has opened stays.
function resize() {
  for (const panel of lesson.panels) {
    const drawn = plots(panel.run);
    drawn.forEach(({ picture }, place) => panel.drawn[place].picture.replaceWith(picture));
    panel.drawn = drawn;
    panel.told.querySelector(".stages-bar")?.replaceWith(Draw.stages(panel.run, plotWidth()));
  }
  move(lesson.cursor);
}

function show() {
  const { info, run } = lesson;
  const place = lab.querySelector(".clusters");
  place.replaceChildren();
  lesson.panels = run.clusters.map((one) => {
    const picture = make("div", { class: "picture" });
    const drawn = plots(one);
    const saidOf = new Set(); // what a line means is said once
    const log = make("ol", { class: "log" }, ...one.lines.map(([at, words, what, , of], place) => {
      const kind = meant(one, place), meaning = saidOf.has(kind) ? undefined : (MEANINGS[one.title] || {})[kind];
      saidOf.add(kind);
      return line(at, words, meaning && meaning.replaceAll("{of}", of.join(", ")));
    }));
    const told = make("div", { class: "told", hidden: true },
      make("dl", { class: "figures" }, ...one.figures.flatMap(([name, value, unit]) => [make("dt", {}, name), make("dd", {}, `${figure(value)} ${unit}`.trim())])));
    if (info.views.includes("stages")) told.append(Draw.stages(one, plotWidth()));
    if (info.views.includes("silence")) told.append(...silence(one));
    const { asked, film } = asks(one);
    told.append(asked);
    const right = make("div", { class: "plots" }, ...drawn.map(({ picture: one }) => one), ...(info.views.includes("waits") ? [Draw.key(one)] : []), told);
    place.append(make("section", { class: "cluster", "aria-label": one.title },
      make("h3", {}, one.title), picture, right, film, ...(one.lines.length ? [make("details", { class: "logbox", open: innerWidth > 700 }, make("summary", {}, "What the servers notice"), log)] : [])));
    return { run: one, picture, drawn, log, told, film, last: "" };
  });
  const list = document.getElementById("faults");
  if (list) list.textContent = lesson.faults.length ? `Set: ${[...lesson.faults].sort((a, b) => a.at_s - b.at_s).map((one) => `${one.node === "first" ? "n1" : one.node} ${BROKEN[one.what] || one.what} at ${seconds(one.at_s)}${one.until_s ? ` until ${seconds(one.until_s)}` : ""}`).join(", ")}.` : "No fault is set.";
  move(Math.min(lesson.cursor, length()));
}

const figure = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3)));

// Which meaning a line has: for some it depends on what happened before, and on who is there.
function meant(run, place) {
  const [at, words, what, node, of] = run.lines[place];
  if (run.title !== "Galera") return what;
  const { down, cuts } = faultsAt(run, at);
  const number = (name) => run.nodes.indexOf(name);
  if (what === "link-closed") {
    if (words.includes("silence")) return "closed in silence";
    return of.some((one) => down.has(number(one))) ? "closed by the kernel" : "";
  }
  if (what !== "suspect") return what;
  const apart = (one) => cuts.has(number(one)), sameSide = (one) => one === node || !(apart(node) || apart(one));
  if (of.every((one) => sameSide(one) && !down.has(number(one)))) return "suspect alive";
  const before = run.lines.slice(0, place);
  const since = before.findLastIndex(([, , other, who]) => other === "stable" && sameSide(who));
  const earlier = before.slice(since + 1).filter(([, , other, who]) => other === "suspect" && sameSide(who));
  if (earlier.length) return earlier.some(([, , , who]) => who === node) ? "" : "suspect too";
  return apart(node) ? "suspect alone" : "suspect";
}

function line(at, words, meaning) {
  return make("li", { "data-at": at, hidden: true }, make("b", {}, `${at.toFixed(2)} s`), ` ${words}`, ...(meaning ? [make("small", {}, meaning)] : []));
}

// How long each step takes from a fault to the next commit of Galera, in the run that is shown.
function silence(run) {
  const fault = run.faults.find((one) => one.what === "kill" || one.what === "power-loss" || one.what === "cut");
  if (run.title !== "Galera" || !fault) return [];
  const noted = run.noted.filter(([at, node]) => at > fault.at_s && run.nodes[node] !== fault.node);
  const gone = run.nodes.indexOf(fault.node);
  const suspects = noted.filter(([, , what, of]) => what === "suspect" && of.includes(gone));
  const view = noted.find(([, , what, of]) => what === "stable" && !of.includes(gone));
  if (!suspects.length || !view || suspects[0][0] > view[0]) return [];
  const [first, firstNode] = suspects[0], second = suspects.find(([, node]) => node !== firstNode);
  const commits = run.ended.filter((at, place) => !run.error[place] && at > view[0]);
  if (!commits.length) return [];
  const timeout = Math.min(first, fault.at_s + lesson.run.settings.suspect_s);
  const agreed = second && second[0] < view[0] ? second[0] : first;
  const two = agreed > first;
  const steps = [
    ["1", timeout - fault.at_s, `evs.suspect_timeout: nothing new from ${fault.node}`],
    ["2", first - timeout, `until ${run.nodes[firstNode]} checks. It suspects ${fault.node}, and sends a join message`],
    ["3a", agreed - first, second ? `until ${run.nodes[second[1]]} checks, too. It suspects ${fault.node}, and sends nothing` : ""],
    [two ? "3b" : "3", view[0] - agreed, "until the timer repeats the join messages; then they agree"],
    ["4", Math.min(...commits) - view[0], "the view is installed, and the first commit is answered"],
  ].filter(([, took, words]) => took > 0 && words);
  const whole = steps.reduce((sum, [, took]) => sum + took, 0);
  const from = fault.what === "cut" ? "cut" : "end";
  const waits = 1000 * ((run.waits_from_s ?? 0) - fault.at_s);
  return [make("div", { class: "silence", "data-whole": whole.toFixed(2) }, make("h4", {}, `From the ${from} of ${fault.node} to the next commit: ${whole.toFixed(2)} s`),
    ...(waits > 0 && waits < 1000 ? [make("p", { class: "hint" }, `In the first ${Math.round(waits)} ms of it no client wanted to commit. The longest time above is counted without them.`)] : []),
    make("ol", {}, ...steps.map(([step, took, words], place) => make("li", {},
      make("span", { class: "bar", style: `width:max(2px, ${(100 * took) / whole}%);background:${Draw.COLOURS[place]}` }),
      make("span", {}, `${step}. `, make("b", {}, took < 0.1 ? `${+(1000 * took).toPrecision(2)} ms ` : `${took.toFixed(2)} s `), words)))))];
}

// The longest time without a commit, explained by the engine; and the messages around its end.
function asks(run) {
  const box = make("div", { class: "asks" });
  const silent = run.figures.some(([name, value]) => /without a commit|commit nothing/.test(name) && value > 0.1);
  const because = make("div", { class: "because", hidden: true });
  const film = make("div", { class: "player" });
  const given = [lesson.run.lab, lesson.run.settings, lesson.faultsOfRun || lesson.info.faults, run.title];
  if (silent) {
    const known = lesson.run === lesson.info.run && lesson.info.why[run.title];
    box.append(make("button", { type: "button", onclick: async ({ target }) => {
      target.disabled = true;
      said("Explaining ...");
      try {
        const sentences = known || (await Engine.ask("why", ...given)).value;
        because.replaceChildren(...sentences.map((one) => make("p", { style: `padding-left:${one.length - one.trimStart().length}ch` }, one.trim())));
        because.hidden = false;
        said("Explained by the engine.");
      } catch (error) { said(error.message); target.disabled = false; }
    } }, "Why so long?"));
  }
  if (typeof SimrepPlayer !== "undefined") {
    box.append(make("button", { type: "button", onclick: async ({ target }) => {
      target.disabled = true;
      said("Recording all messages ...");
      try {
        const { value, seconds: took } = await Engine.ask("messages", ...given, look(run));
        film.replaceChildren();
        new SimrepPlayer(film, value);
        said(`Recorded in ${seconds(took)}.`);
      } catch (error) { said(error.message); target.disabled = false; }
    } }, "See the messages"));
  }
  return { asked: make("div", {}, box, because), film };
}

// Around the end of the longest silence, or around a commit in the middle.
function look(run) {
  const commits = run.ended.filter((_, place) => !run.error[place]).sort((a, b) => a - b);
  let from = 0, to = 0;
  for (let place = 1; place < commits.length; place++) {
    if (commits[place] - commits[place - 1] > to - from) [from, to] = [commits[place - 1], commits[place]];
  }
  if (run.faults.length) return [Math.max(0, to - 1.7), to + 0.1];
  const middle = run.ended.findIndex((at) => at > run.end_s / 2);
  const place = middle < 0 ? run.ended.length - 1 : middle;
  return [run.began[place] - 0.001, run.ended[place] + 0.001];
}

// ---------------------------------------------------------------------- time

function toggle() {
  if (lesson.playing) { pause(); return; }
  if (lesson.cursor >= length() - 1e-9) move(0);
  lesson.playing = true;
  document.getElementById("play").textContent = "Pause";
  let before = performance.now();
  const step = (now) => {
    if (!lesson.playing) return;
    move(lesson.cursor + ((now - before) / 1000) * lesson.speed * (length() > 12 ? 2 : 1));
    before = now;
    if (lesson.cursor >= length() - 1e-9) pause(); else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

function pause() {
  lesson.playing = false;
  document.getElementById("play").textContent = "Play";
}

function move(at) {
  lesson.cursor = Math.max(0, Math.min(length(), at));
  document.getElementById("clock").textContent = seconds(lesson.cursor);
  document.getElementById("cursor").value = (1000 * lesson.cursor) / length();
  const over = lesson.cursor >= length() - 1e-6;
  for (const panel of lesson.panels) {
    for (const { box, x, shown } of panel.drawn) {
      const to = x(Math.min(lesson.cursor, panel.run.end_s));
      clip(shown, box, to, over);
    }
    for (const item of panel.log.children) item.hidden = +item.dataset.at > lesson.cursor + 1e-9;
    panel.told.hidden = panel.film.hidden = !over;
    const { states, cuts, key } = now(panel.run, lesson.cursor);
    if (key !== panel.last) {
      panel.last = key;
      panel.picture.replaceChildren(Draw.nodes(panel.run.nodes, states, cuts, panel.run.rtt_ms));
    }
  }
  if (over) { remember(); compare(); }
}

let clips = 0;
function clip(shown, box, to, over) {
  let rect = shown.clipRect;
  if (!rect) {
    const id = `clip${++clips}`;
    const SVG = "http://www.w3.org/2000/svg";
    const path = document.createElementNS(SVG, "clipPath");
    path.id = id;
    rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("x", 0); rect.setAttribute("y", 0); rect.setAttribute("height", box.height);
    path.append(rect);
    shown.before(path);
    const cursor = document.createElementNS(SVG, "line");
    cursor.setAttribute("class", "now"); cursor.setAttribute("y1", box.top); cursor.setAttribute("y2", box.bottom);
    shown.after(cursor);
    shown.setAttribute("clip-path", `url(#${id})`);
    shown.clipRect = rect;
    shown.cursorLine = cursor;
  }
  rect.setAttribute("width", over ? box.width : to);
  shown.cursorLine.setAttribute("x1", to);
  shown.cursorLine.setAttribute("x2", to);
}

// Which nodes are down at a time, and which are cut off.
function faultsAt(run, at) {
  const down = new Set(), cuts = new Set();
  for (const one of [...run.faults].sort((a, b) => a.at_s - b.at_s)) {
    if (one.at_s > at) break;
    const node = run.nodes.indexOf(one.node);
    if (one.what === "kill" || one.what === "power-loss") down.add(node);
    if (one.what === "restart") down.delete(node);
    if (one.what === "cut" && !(one.until_s <= at)) cuts.add(node);
  }
  return { down, cuts };
}

// What each node does at a time: from the faults that are set and from what clients saw.
function now(run, at) {
  const SPAN = 0.5;
  const { down, cuts } = faultsAt(run, at);
  const done = run.nodes.map(() => 0), waiting = run.nodes.map(() => 0);
  for (let place = 0; place < run.ended.length; place++) {
    const node = run.node[place];
    if (run.error[place] === 0 && run.ended[place] <= at && run.ended[place] > at - SPAN) done[node]++;
    if (run.began[place] <= at && run.ended[place] > Math.max(at, run.began[place] + SPAN)) waiting[node]++;
  }
  const states = run.nodes.map((_, node) => {
    if (down.has(node)) return { kind: "down", words: "down" };
    const cut = cuts.has(node) ? "cut off, " : "";
    if (done[node]) return { kind: cut ? "cut" : "works", words: `${cut}${Draw.short(done[node] / SPAN)} commits/s` };
    if (waiting[node]) return { kind: "waits", words: `${cut}${waiting[node]} ${waiting[node] === 1 ? "client waits" : "clients wait"}` };
    return { kind: cut ? "cut" : "idle", words: cut ? "cut off" : !run.node.includes(node) ? "no clients" : at > 0 ? "no commits" : "not played yet" };
  });
  return { states, cuts, key: JSON.stringify(states) };
}

// The runs that the reader has played to the end, as a table.
function remember() {
  const place = lab.querySelector(".tried");
  if (!lesson.info.views.includes("tried") || lesson.tried.includes(lesson.run)) return;
  lesson.tried.push(lesson.run);
  const names = lesson.info.controls;
  const rows = lesson.tried.slice(-10).flatMap((run) => run.clusters.map((one) => make("tr", {},
    ...names.map(({ name, unit, values, start }) => make("td", {}, typeof start === "string" ? values.find(([value]) => value === run.settings[name])[1] : `${run.settings[name].toLocaleString("en")} ${unit || ""}`)),
    ...one.figures.slice(0, 4).map(([, value, unit]) => make("td", {}, `${figure(value)} ${unit}`)))));
  place.hidden = false;
  place.replaceChildren(make("h3", {}, "The runs that you have tried"), make("div", { class: "wide" }, make("table", {},
    make("thead", {}, make("tr", {}, ...names.map(({ label }) => make("th", { scope: "col" }, label)), ...lesson.run.clusters[0].figures.slice(0, 4).map(([name]) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows))));
}

document.querySelectorAll(".expect input").forEach((one) => one.addEventListener("change", ({ target }) => {
  const box = target.closest(".expect");
  lesson.expected = target.parentElement.textContent.trim();
  box.querySelector("output").textContent = `You expect: ${lesson.expected}. Now play, and see.`;
}));

// What the reader expected, beside what the run that the page begins with has shown.
function compare() {
  if (!lesson.expected || lesson.run !== lesson.info.run) return;
  const shown = lab.querySelector(".silence[data-whole]");
  document.querySelector(".expect output").textContent = shown
    ? `You expected: ${lesson.expected}. It was ${shown.dataset.whole} s, from the end of n1 to the next commit.`
    : `You expected: ${lesson.expected}. Compare it with the figures below.`;
}

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, button, summary, a")) return;
  if (event.key === " ") { event.preventDefault(); toggle(); }
  if (event.key === "ArrowRight") { pause(); move(lesson.cursor + length() / 100); }
  if (event.key === "ArrowLeft") { pause(); move(lesson.cursor - length() / 100); }
});

let resized = 0, width = innerWidth; // a phone changes the height whenever its bar comes or goes
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(resized);
  resized = setTimeout(() => lesson.run && resize(), 200);
});
