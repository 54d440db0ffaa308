// The player as a component: new SimrepPlayer(element, document). It keeps what is in view, where the
// film is and what is chosen, and has the views draw that.

const SCREEN_S = 10; // real seconds in which the film crosses the picture at normal speed
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const LEAST_S = 2e-6; // the shortest time that is shown across the picture
const COMMITTED_S = 0.6; // real seconds for which a node shows that it has answered a commit

class SimrepPlayer {
  constructor(element, content, options = {}) {
    this.root = element;
    this.options = options;
    this.speed = 1;
    this.playing = false;
    this.hover = null;
    this.chosen = -1;
    this.frames = 0;
    buildParts(this);
    this.picture = new Picture(this, this.parts.picture);
    this.film = new Film(this, this.parts.film);
    this.overview = new Overview(this, this.parts.overview);
    this.panel = new Panel(this);
    listen(this);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.parts.picture);
    if (content) this.load(content);
  }

  // Shows another run; what was in view of the one before is forgotten.
  load(content) {
    const run = new Run(content);
    this.pause();
    this.run = run;
    this.look = new Look(this.root);
    this.kindLooks = looksOfKinds(run.messages);
    this.nodeShown = run.nodes.map(() => true);
    this.kindShown = run.messages.kinds.map(() => true);
    this.hover = null;
    this.chosen = -1;
    this.failure = null;
    this.answers = null;
    this.busiest = new Map();
    const [from, to] = firstLook(run);
    this.from = from;
    this.span = Math.max(LEAST_S, to - from);
    this.at = this.from;
    this.panel.load();
    this.resize();
    if (run.chosen >= 0) this.choose(run.chosen, false);
    return this;
  }

  destroy() {
    this.pause();
    this.observer.disconnect();
    this.unlisten();
    this.root.replaceChildren();
    this.run = null;
  }

  // -- what there is -------------------------------------------------------------------------------

  shownNodes() {
    return this.run.nodes.map((_, node) => node).filter((node) => this.nodeShown[node]);
  }

  bandAt(node, time) {
    return this.run.bands.find((one) => one.node === node && one.at <= time && time < one.until);
  }

  writerAt(node, time) {
    return this.run.writers.find((one) => one.node === node && one.at <= time && time < one.until);
  }

  // How a node is called that takes writes.
  writerWord(spell) {
    return spell.outside ? "writes alone" : this.run.leader || "writes";
  }

  messagesOf(transaction) {
    if (this.ofChosen === undefined || this.ofChosen.transaction !== transaction) {
      const { messages } = this.run, found = [];
      for (let i = 0; i < messages.count; i++) if (messages.about(i).includes(transaction)) found.push(i);
      const groups = this.run.groups.all.filter((one) => one.of === transaction);
      this.ofChosen = { transaction, found, groups };
    }
    return this.ofChosen.found;
  }

  groupsOf(transaction) {
    this.messagesOf(transaction);
    return this.ofChosen.groups;
  }

  // How much a node should light up for the commits that it has just answered: 0 to 1.
  committedRecently(node) {
    const { transactions } = this.run;
    if (!this.answers) {
      this.answers = this.run.nodes.map(() => []);
      for (let i = 0; i < transactions.count; i++) {
        if (!transactions.failed(i)) this.answers[transactions.node[i]].push(transactions.ended[i]);
      }
      this.answers = this.answers.map((one) => Float64Array.from(one).sort());
    }
    const last = above(this.answers[node], this.at) - 1;
    if (last < 0) return 0;
    return Math.max(0, 1 - (this.at - this.answers[node][last]) / (COMMITTED_S * this.pace));
  }

  // The most messages that one node sends in so short a time.
  mostSent(width) {
    const key = `${width} ${this.kindShown}`;
    if (!this.busiest.has(key)) {
      const { messages } = this.run, counts = new Map();
      for (let i = 0; i < messages.count; i++) {
        if (!this.kindShown[messages.kind[i]]) continue;
        const bin = messages.source[i] + this.run.nodes.length * Math.floor(messages.sent[i] / width);
        counts.set(bin, (counts.get(bin) || 0) + 1);
      }
      let most = 1;
      for (const count of counts.values()) if (count > most) most = count;
      this.busiest.set(key, most);
    }
    return this.busiest.get(key);
  }

  // -- what is in view -----------------------------------------------------------------------------

  get to() { return this.from + this.span; }

  get pace() { return (this.span / SCREEN_S) * this.speed; } // simulated seconds per second

  lookAt(from, width) {
    width = Math.min(Math.max(width, LEAST_S), this.run.length * 1.02);
    from = Math.min(Math.max(from, -0.02 * width), this.run.length - 0.5 * width);
    if (width >= this.run.length) from = -0.01 * this.run.length;
    this.from = from;
    this.span = width;
    this.changed();
  }

  zoom(factor, about = this.at) {
    const width = this.span;
    if (about < this.from || about > this.to) about = (this.from + this.to) / 2;
    const wide = Math.min(Math.max(width * factor, LEAST_S), this.run.length * 1.02);
    this.lookAt(about - ((about - this.from) / width) * wide, wide);
  }

  goTo(time) {
    this.at = Math.min(Math.max(time, 0), this.run.length);
    const width = this.span;
    if (this.at < this.from || this.at > this.to) this.lookAt(this.at - 0.2 * width, width);
    this.changed();
  }

  // Something that happened: the film goes there, and so much around it is in view.
  show(from, to) {
    const width = Math.max(LEAST_S, to - from);
    this.lookAt(from - 0.15 * width, 1.3 * width);
    this.goTo(from);
  }

  choose(transaction, move = true) {
    this.chosen = transaction;
    if (transaction >= 0 && move) {
      const { started, ended } = this.run.transactions;
      const [from, to] = [started[transaction], ended[transaction]];
      if (from < this.from || to > this.to || to - from < 0.15 * (this.to - this.from)) this.show(from, to);
      else this.goTo(from);
    }
    this.panel.tellChosen();
    this.changed();
  }

  // An attempt that failed: the film goes to its end.
  showFailure(group) {
    this.pause();
    this.failure = group;
    const parts = this.run.partsOf(group);
    this.hover = parts.length ? { message: -1, group, part: parts[parts.length - 1] } : null;
    this.chosen = group.of;
    this.panel.tellChosen();
    this.goTo(group.ended);
    this.panel.say(`${this.panel.wordsOfFailure(group).join(". ")}.`);
  }

  // The next (or last) message that leaves or arrives.
  step(direction) {
    this.pause();
    const { messages } = this.run;
    const seen = (i) => this.kindShown[messages.kind[i]] && this.nodeShown[messages.source[i]] && this.nodeShown[messages.target[i]];
    const least = 1e-9;
    let best = NaN, which = -1, arrives = false;
    const better = (time) => (direction > 0 ? time > this.at + least && !(time >= best) : time < this.at - least && !(time <= best));
    const near = above(messages.sent, this.at);
    for (let i = direction > 0 ? near : near - 1; i >= 0 && i < messages.count; i += direction) {
      if (seen(i) && better(messages.sent[i])) { [best, which, arrives] = [messages.sent[i], i, false]; break; }
    }
    const [low, high] = direction > 0 ? [this.at, Number.isNaN(best) ? this.run.length : best] : [Number.isNaN(best) ? 0 : best, this.at];
    messages.spells.each(low, high, (i) => {
      if (messages.arrived[i] >= 0 && seen(i) && better(messages.arrived[i])) [best, which, arrives] = [messages.arrived[i], i, true];
    });
    if (which < 0) return;
    this.hover = { message: which };
    this.goTo(best);
    this.panel.say(`${arrives ? "Arrives: " : "Leaves: "}${this.panel.wordsOf(this.hover).join(". ")}`);
  }

  // -- the film ------------------------------------------------------------------------------------

  play() {
    if (this.playing || !this.run) return;
    this.playing = true;
    if (this.at >= this.run.length * 0.9999) this.goTo(0);
    this.before = performance.now();
    this.panel.tellPlaying();
    this.changed();
  }

  pause() {
    this.playing = false;
    if (this.run) this.panel.tellPlaying();
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  setSpeed(speed) {
    this.speed = speed;
    this.panel.tellSpeed();
  }

  changed() {
    if (!this.waiting) this.waiting = requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.waiting = 0;
    if (!this.run) return;
    if (this.playing) {
      // A page that was in the background has not played on.
      const passed = Math.min(0.2, Math.max(0, (now - this.before) / 1000));
      this.before = now;
      this.at += passed * this.pace;
      const width = this.span;
      if (this.at >= this.run.length) { this.at = this.run.length; this.pause(); }
      const ahead = this.from + 0.7 * width;
      if (this.at > this.to || this.at < this.from) this.lookAt(this.at - 0.3 * width, width);
      else if (this.at > ahead && this.to < this.run.length) this.from = this.at - 0.7 * width;
    }
    this.draw();
    this.frames++;
    if (this.playing) this.changed();
  }

  draw() {
    this.picture.draw();
    this.film.draw();
    this.overview.draw();
    this.panel.tellTime();
  }

  // -- from outside --------------------------------------------------------------------------------

  resize() {
    if (!this.run || !this.root.isConnected) return;
    this.look = new Look(this.root);
    this.picture.resize();
    this.film.resize();
    this.overview.resize();
    this.draw();
  }

  filter() {
    this.busiest.clear();
    this.picture.forget();
    this.film.place();
    this.hover = null;
    this.changed();
  }
}

// What a run is first shown at: the chosen transaction, the part that was asked for, the first fault,
// or else so much that single messages are seen.
function firstLook(run) {
  const { transactions } = run;
  if (run.chosen >= 0) {
    const [from, to] = [transactions.started[run.chosen], transactions.ended[run.chosen]];
    return [from - 0.15 * (to - from), to + 0.35 * (to - from)];
  }
  if (run.look) return run.look;
  const struck = run.events.filter((one) => !one.load && one.at <= run.window[1]);
  const took = transactions.ended.map((one, i) => one - transactions.started[i]).filter((_, i) => !transactions.failed(i));
  const typical = took.length ? middleOf(took) : 0.01;
  if (struck.length) {
    const noted = run.notes.filter((one) => one.kind !== "fault" && one.at > struck[0].at);
    const last = noted.length ? noted[Math.min(noted.length - 1, 12)].at : struck[0].at + 1;
    const width = Math.min(run.length, Math.max(20 * typical, 1.25 * (last - struck[0].at), 0.05));
    return [Math.max(0, struck[0].at - 0.15 * width), struck[0].at + 0.85 * width];
  }
  const first = transactions.count ? transactions.started[Math.min(transactions.count - 1, above(transactions.started, run.measuredFrom))] : run.window[0];
  const width = Math.min(run.length, 12 * typical);
  const from = Math.max(run.window[0], first - 0.1 * width);
  return [from, from + width];
}

function middleOf(values) {
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >> 1];
}
