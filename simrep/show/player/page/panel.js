// All that is no drawing: buttons, legends that filter, the chosen transaction, the list of what happened.

const FEW_KINDS = 9; // of messages, that are listed at once
const MOST_ROWS = 150; // of transactions in view
const LIST_MS = 300; // real time between two lists of what is in view, of which a film needs fewer

class Panel {
  constructor(player) {
    this.player = player;
    this.parts = player.parts;
  }

  load() {
    const { run } = this.player, { parts } = this;
    parts.title.textContent = run.title;
    const told = run.transactions.commits.toLocaleString("en"), sent = run.messages.count.toLocaleString("en");
    const whole = run.window[0] <= 0 && run.window[1] >= run.length;
    const part = whole ? "" : ` from ${instant(run.window[0], 1)} to ${instant(run.window[1], 1)}; of the rest only how much happened`;
    parts.facts.textContent = `${run.model}, ${run.nodes.length} ${run.nodes.length === 1 ? "node" : "nodes"}, ${duration(run.length)} simulated, seed ${run.content.seed}: ${told} commits, ${this.failedWords()} and ${sent} messages${part}`;
    this.fillFilters();
    this.fillNotes();
    parts.failure.disabled = !run.groups.all.some((one) => one.error);
    this.onlyFailed = false;
    parts.onlyFailed.setAttribute("aria-pressed", "false");
    this.tellChosen();
    this.tellSpeed();
    this.tellPlaying();
    this.say("");
  }

  fillFilters() {
    const { player, parts } = this, { run } = player;
    parts.nodes.replaceChildren();
    run.nodes.forEach((name, node) => {
      this.chip(parts.nodes, name, player.nodeShown, node, null);
    });
    parts.kinds.replaceChildren();
    const counts = new Float64Array(run.messages.kinds.length);
    for (let i = 0; i < run.messages.count; i++) counts[run.messages.kind[i]]++;
    const order = run.messages.kinds.map((_, kind) => kind);
    order.sort((a, b) => run.messages.carries[b] - run.messages.carries[a] || counts[b] - counts[a]);
    const more = element(null, "button", "chip more");
    order.forEach((kind, place) => {
      const button = this.chip(parts.kinds, run.messages.kinds[kind], player.kindShown, kind, player.kindLooks[kind]);
      element(button, "span", "count", counts[kind].toLocaleString("en"));
      button.hidden = place >= FEW_KINDS;
    });
    if (order.length > FEW_KINDS + 1) {
      more.type = "button";
      more.textContent = `${order.length - FEW_KINDS} more kinds`;
      more.addEventListener("click", () => {
        more.remove();
        for (const one of parts.kinds.children) one.hidden = false;
      });
      parts.kinds.append(more);
    } else for (const one of parts.kinds.children) one.hidden = false;
    parts.kindsRow.hidden = run.messages.kinds.length === 0;
    parts.stagesRow.replaceChildren();
    for (const name of this.stageNames()) {
      const entry = element(parts.stagesRow, "span", "stage");
      this.swatch(element(entry, "canvas", "swatch"), (pen) => {
        pen.fillStyle = player.look.fill(pen, name);
        pen.fillRect(0, 2, 22, 10);
      });
      element(entry, "span", "", name);
    }
    this.fillMarks();
  }

  // Writers, and attempts that failed: what else the picture shows.
  fillMarks() {
    const { player, parts } = this, { run, look } = player;
    const mark = (text, draw) => {
      const entry = element(parts.marksRow, "span", "stage");
      this.swatch(element(entry, "canvas", "swatch"), draw);
      element(entry, "span", "", text);
    };
    parts.marksRow.replaceChildren();
    const line = (dash) => (pen) => {
      pen.strokeStyle = look.ink;
      pen.lineWidth = 4;
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(0, 7);
      pen.lineTo(22, 7);
      pen.stroke();
    };
    if (run.writers.length) mark(run.leader ? `the node takes writes (${run.leader})` : "the node takes writes", line([]));
    if (run.writers.some((one) => one.outside)) mark("it takes writes alone: the others have gone on without it", line([6, 4]));
    if (run.groups.all.some((one) => one.error)) mark("an attempt has failed", (pen) => drawFailure(pen, 11, 7, 6, look));
  }

  failedWords() {
    const { run } = this.player, failed = run.transactions.count - run.transactions.commits;
    const left = run.refusals.length + run.content.refusals.left_out;
    const words = [`${failed.toLocaleString("en")} failed ${failed === 1 ? "attempt" : "attempts"}`];
    if (left) words.push(`${left.toLocaleString("en")} connections that were not made`);
    return words.join(", ");
  }

  stageNames() {
    const { transactions } = this.player.run, used = new Set(transactions.packed.stage);
    const texts = [...used].map((pattern) => this.player.run.texts.text(pattern, [], 0));
    return Object.keys(STAGES).filter((name) => texts.includes(name));
  }

  chip(parent, name, shown, place, look) {
    const button = element(parent, "button", "chip");
    button.type = "button";
    button.setAttribute("aria-pressed", String(shown[place]));
    if (look) {
      this.swatch(element(button, "canvas", "swatch"), (pen) => {
        pen.strokeStyle = pen.fillStyle = this.player.look.ofKind(look.colour);
        pen.setLineDash(look.dash);
        pen.lineWidth = 1.6;
        pen.beginPath();
        pen.moveTo(0, 7);
        pen.lineTo(22, 7);
        pen.stroke();
        drawShape(pen, look.shape, 11, 7, 4);
      });
    }
    element(button, "span", "name", name).title = name;
    button.addEventListener("click", (event) => {
      if (event.altKey || event.shiftKey) shown.fill(false);
      shown[place] = event.altKey || event.shiftKey ? true : !shown[place];
      if (!shown.some(Boolean)) shown.fill(true);
      for (const one of parent.children) {
        if (one.place !== undefined) one.setAttribute("aria-pressed", String(shown[one.place]));
      }
      this.player.filter();
    });
    button.place = place;
    return button;
  }

  swatch(canvas, draw) {
    canvas.width = 44;
    canvas.height = 28;
    const pen = canvas.getContext("2d");
    pen.scale(2, 2);
    draw(pen);
  }

  // -- what happened -------------------------------------------------------------------------------

  fillNotes() {
    const { player, parts } = this, { run } = player;
    const listed = [
      ...run.notes.map((one) => ({ ...one, until: NaN })),
      ...run.quiet.map((one) => ({ at: one.at, until: one.until, kind: "stall", text: `no commit for ${duration(one.until - one.at)}` })),
    ].sort((a, b) => a.at - b.at);
    parts.notes.replaceChildren();
    this.notes = listed.map((one) => {
      const row = element(parts.notes, "li", one.kind);
      const button = element(row, "button");
      button.type = "button";
      element(button, "span", "time", instant(one.at, 1));
      element(button, "span", "mark", { fault: "▼", view: "◆", stall: "▨", note: "·" }[one.kind]);
      element(button, "span", "text", one.text);
      button.addEventListener("click", () => {
        if (one.until > one.at) player.show(one.at, one.until);
        else player.goTo(one.at);
      });
      return { at: one.at, row };
    });
    parts.nothing.hidden = listed.length > 0;
    this.nowNote = -2;
  }

  tellTime() {
    const { player, parts } = this, width = player.span;
    parts.time.textContent = instant(player.at, width / 10);
    parts.span.textContent = `${duration(width)} in view`;
    this.tellPace();
    this.tellWriters();
    this.tellListSoon();
    let now = -1;
    while (now + 1 < this.notes.length && this.notes[now + 1].at <= player.at) now++;
    if (now === this.nowNote) return;
    this.notes.forEach((one, place) => {
      one.row.classList.toggle("past", place <= now);
      one.row.classList.toggle("now", place === now);
    });
    this.nowNote = now;
    if (now >= 0) {
      const { row } = this.notes[now], list = parts.notes;
      if (row.offsetTop < list.scrollTop || row.offsetTop + row.offsetHeight > list.scrollTop + list.clientHeight) {
        list.scrollTop = row.offsetTop - list.clientHeight / 2;
      }
    }
  }

  // Who takes writes now, also for those who do not see the badges.
  tellWriters() {
    const { player, parts } = this, { run, at } = player;
    const now = run.writers.filter((one) => one.at <= at && at < one.until);
    const names = (spells) => spells.map((one) => run.nodes[one.node]).join(", ");
    const inside = now.filter((one) => !one.outside), alone = now.filter((one) => one.outside);
    let text = `No node takes writes`;
    if (inside.length) text = inside.length === run.nodes.length && inside.length > 2 ? "All nodes take writes" : `Takes writes${run.leader ? ` as ${run.leader}` : ""}: ${names(inside)}`;
    if (alone.length) text += `; alone, outside of the service: ${names(alone)}`;
    if (!run.writers.length) text = "";
    if (text !== this.writersText) parts.writers.textContent = this.writersText = text;
  }

  // -- the transactions in view --------------------------------------------------------------------

  listFailed() {
    this.onlyFailed = !this.onlyFailed;
    this.parts.onlyFailed.setAttribute("aria-pressed", String(this.onlyFailed));
    this.tellList();
  }

  tellListSoon() {
    const { player } = this, key = `${player.from} ${player.span} ${player.nodeShown} ${player.chosen}`;
    if (key === this.listKey || this.listWaits) return;
    this.listWaits = setTimeout(() => {
      this.listWaits = 0;
      if (player.run) this.tellList();
    }, player.playing ? 5 * LIST_MS : LIST_MS);
  }

  tellList() {
    const { player, parts } = this, { run, from, to } = player;
    this.listKey = `${player.from} ${player.span} ${player.nodeShown} ${player.chosen}`;
    const rows = [], errors = new Map();
    let committed = 0, failed = 0;
    run.groups.spells.each(from, to, (place) => {
      const group = run.groups.all[place];
      if (!(group.told || group.refusal) || !player.nodeShown[group.node]) return;
      if (group.error) {
        failed++;
        const code = codeOf(group.error);
        errors.set(code, (errors.get(code) || 0) + 1);
      } else committed++;
      if ((group.error || !this.onlyFailed) && rows.length < MOST_ROWS) rows.push(group);
    });
    const count = (number) => number.toLocaleString("en");
    const most = [...errors].sort((a, b) => b[1] - a[1]).map(([code, times]) => `${code} ×${count(times)}`);
    parts.listed.textContent = `In view: ${count(committed)} committed, ${count(failed)} failed${most.length ? ` (${most.join(", ")})` : ""}`;
    parts.onlyFailed.disabled = !failed && !this.onlyFailed;
    parts.list.replaceChildren();
    for (const group of rows) {
      const row = element(parts.list, "li", group.error ? "failed" : "");
      const button = element(row, "button");
      button.type = "button";
      if (group.of >= 0 && group.of === player.chosen) button.setAttribute("aria-current", "true");
      element(button, "span", "time", instant(group.began, player.span / 10));
      element(button, "span", "mark", group.error ? "⊗" : "✓");
      const what = group.refusal ? "connection" : run.transactions.kindName(group.of);
      element(button, "span", "name", `${run.nodes[group.node]}, ${what}`);
      element(button, "span", "took", duration(group.ended - group.began));
      element(button, "span", "text", group.error || "committed");
      button.addEventListener("click", () => (group.error ? player.showFailure(group) : player.choose(group.of)));
    }
    const left = (this.onlyFailed ? failed : committed + failed) - rows.length;
    if (left > 0) element(parts.list, "li", "more", `and ${count(left)} more: zoom in to see them`);
  }

  tellSpeed() {
    this.parts.speed.value = String(this.player.speed);
    if (this.player.run) this.tellPace();
  }

  tellPace() {
    const { player, parts } = this;
    const pace = player.pace;
    const text = pace < 0.995 ? `${figures(1 / pace, 2)}× slower than life` : `${figures(pace, 2)}× life`;
    if (text !== this.paceText) parts.pace.textContent = this.paceText = text;
  }

  tellPlaying() {
    const { playing } = this.player, button = this.parts.play;
    button.textContent = playing ? "❚❚" : "▶";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
    button.title = playing ? "Pause (space)" : "Play (space)";
  }

  say(text) { this.parts.said.textContent = text; }

  // -- the chosen transaction ------------------------------------------------------------------------

  tellChosen() {
    const { player, parts } = this, { run, chosen } = player;
    parts.stages.replaceChildren();
    parts.close.hidden = chosen < 0;
    parts.earlier.disabled = parts.later.disabled = run.transactions.count === 0;
    parts.error.hidden = true;
    if (chosen < 0) {
      parts.chosen.textContent = "No transaction is chosen";
      parts.about.textContent = run.transactions.count ? "Select a bar in the picture to see where its time went." : "No transaction committed in this part of the run.";
      return;
    }
    const told = run.transactions, started = told.started[chosen], ended = told.ended[chosen];
    const total = ended - started || 1, { rows, size, client } = told.packed;
    parts.chosen.textContent = `${run.titleOf(chosen)}: ${duration(ended - started)}`;
    const error = told.error(chosen), unknown = told.unknown(chosen) ? " Its client does not know whether it is committed." : "";
    parts.error.hidden = !error;
    parts.error.textContent = error ? `⊗ ${error[0].toUpperCase()}${error.slice(1)}.${unknown}` : "";
    parts.about.textContent = `${rows[chosen] === 1 ? "1 row" : `${rows[chosen].toLocaleString("en")} rows`}, ${bytes(size[chosen])}, of client ${client[chosen]}; begun at ${instant(started, total)}`;
    for (const stage of told.stages(chosen)) {
      const row = element(parts.stages, "li");
      const button = element(row, "button");
      button.type = "button";
      element(button, "span", "name", stage.name);
      const bar = element(button, "span", "bar");
      const fill = element(bar, "canvas");
      fill.style.left = `min(calc(100% - 2px), ${(100 * (stage.began - started)) / total}%)`;
      fill.style.width = `max(2px, ${(100 * (stage.ended - stage.began)) / total}%)`;
      fill.width = 400;
      fill.height = 12;
      const pen = fill.getContext("2d");
      pen.fillStyle = player.look.fill(pen, stage.name);
      pen.fillRect(0, 0, 400, 12);
      element(button, "span", "took", duration(stage.ended - stage.began));
      element(button, "span", "reason", stage.reason);
      button.addEventListener("click", () => player.show(stage.began, stage.ended));
    }
  }

  // What is known of an attempt that failed.
  wordsOfFailure(group) {
    const { run } = this.player;
    const what = group.refusal ? `a connection to ${run.nodes[group.node]}` : run.titleOf(group.of);
    const words = [`${what[0].toUpperCase()}${what.slice(1)}: ${group.error}`];
    words.push(`Begun at ${instant(group.began, 1e-3)}, ${duration(group.ended - group.began)} before its client was told`);
    if (group.refusal && group.refusal.group) words.push(`Its client is of ${group.refusal.group}`);
    if (group.of >= 0 && run.transactions.unknown(group.of)) words.push("It may be committed all the same");
    return words;
  }

  // What is known of a message or a bar, in a few sentences.
  wordsOf(found) {
    const { run } = this.player, { messages } = run;
    if (found.message >= 0) {
      const i = found.message, arrived = messages.arrived[i] >= 0;
      const words = [`${messages.labels[messages.label[i]]} from ${run.nodes[messages.source[i]]} to ${run.nodes[messages.target[i]]}, ${bytes(messages.size[i])}`];
      words.push(arrived ? `${duration(messages.arrived[i] - messages.sent[i])} on its way, sent at ${instant(messages.sent[i], 1e-3)}` : `It does not arrive; sent at ${instant(messages.sent[i], 1e-3)}`);
      const wait = messages.handled[i] - messages.arrived[i];
      if (wait > 1e-6) words.push(`Handled ${duration(wait)} after it has come`);
      const cause = messages.cause[i];
      if (cause >= 0) words.push(`Sent because of ${messages.labels[messages.label[cause]]} from ${run.nodes[messages.source[cause]]}`);
      const about = messages.about(i);
      if (about.length) words.push(`It is about ${run.titleOf(about[0])}${about.length > 1 ? ` and ${about.length - 1} more` : ""}`);
      if (this.player.chosen >= 0 && run.transactions.critical(this.player.chosen).includes(i)) words.push("The commit waited for it");
      return words;
    }
    const { part, group } = found;
    if (group.refusal) return this.wordsOfFailure(group);
    const whose = group.of >= 0 ? run.titleOf(group.of) : part.whose || "";
    const words = [`${part.station || part.stage} on ${run.nodes[group.node]}: ${duration(part.ended - part.began)}`];
    if (part.reason) words.push(part.reason[0].toUpperCase() + part.reason.slice(1));
    if (whose) words.push(whose[0].toUpperCase() + whose.slice(1));
    if (group.error) words.push(`⊗ ${group.error}`);
    return words;
  }

  tip(found, x, y) {
    const { tip } = this.parts;
    tip.hidden = !found;
    if (!found) return;
    tip.replaceChildren();
    this.wordsOf(found).forEach((words, place) => element(tip, place ? "div" : "strong", "", words));
    const room = this.parts.stage.getBoundingClientRect();
    const wide = Math.min(340, room.width - 16);
    tip.style.maxWidth = `${wide}px`;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, room.width - box.width - 4))}px`;
    tip.style.top = `${y + 18 + box.height > room.height ? Math.max(2, y - box.height - 12) : y + 18}px`;
  }
}
