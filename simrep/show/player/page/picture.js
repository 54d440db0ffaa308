// The space-time diagram: time from left to right, a strip for each node, messages from line to line.
// It is drawn once in tiles, which are moved while the film runs; what changes is drawn above them.

const TILE = 512; // CSS pixels
const MOST_LINES = 12000; // messages in view that are drawn one by one; more are counted
const AXIS = 24;
const NARROW = 520; // of a picture without room for names beside it

class Picture {
  constructor(player, canvas) {
    this.player = player;
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.tiles = new Map();
    this.marks = new Marks(player);
    this.width = this.height = 0;
    this.ratio = 1;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.width = Math.max(80, box.width);
    this.height = Math.max(60, box.height);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.narrow = this.width < NARROW;
    this.pen.font = `600 13px ${this.player.look.font}`;
    const widest = Math.max(...this.player.run.nodes.map((name) => this.pen.measureText(name).width));
    this.gutter = this.narrow ? 8 : Math.round(Math.min(0.17 * this.width, Math.max(94, widest + 14)));
    this.forget();
  }

  forget() {
    this.tiles.clear();
    const shown = this.player.shownNodes();
    const height = (this.height - AXIS) / Math.max(1, shown.length);
    this.strip = height;
    this.above = Math.max(this.narrow ? 15 : 10, 0.3 * height);
    this.lines = new Map(shown.map((node, row) => [node, row * height + this.above]));
  }

  get scale() { return (this.width - this.gutter) / this.player.span; }
  x(time) { return this.gutter + (time - this.player.from) * this.scale; }
  time(x) { return this.player.from + (x - this.gutter) / this.scale; }

  // -- tiles ---------------------------------------------------------------------------------------

  draw() {
    const { player, pen, ratio } = this, look = player.look;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, this.width, this.height);
    const counted = player.run.messages.spells.count(player.from, player.to) > MOST_LINES;
    const key = `${this.scale} ${counted}`;
    if (key !== this.key) { this.tiles.clear(); this.key = key; }
    const scale = this.scale, left = player.from * scale;
    const first = Math.floor(left / TILE), last = Math.floor((left + this.width - this.gutter) / TILE);
    for (let place = first; place <= last; place++) {
      let tile = this.tiles.get(place);
      if (!tile) {
        tile = this.makeTile(place, scale, counted);
        this.tiles.set(place, tile);
        if (this.tiles.size > 12) this.tiles.delete(this.tiles.keys().next().value);
      }
      const x = Math.round((this.gutter + place * TILE - left) * ratio) / ratio;
      pen.drawImage(tile, x, 0, TILE, this.height);
    }
    pen.save();
    pen.beginPath();
    pen.rect(this.gutter, 0, this.width, this.height);
    pen.clip();
    this.drawChosen(pen);
    this.drawHover(pen);
    this.drawHead(pen);
    pen.restore();
    this.drawNames(pen);
    this.drawAxis(pen);
  }

  makeTile(place, scale, counted) {
    const tile = document.createElement("canvas");
    tile.width = Math.round(TILE * this.ratio);
    tile.height = this.canvas.height;
    const pen = tile.getContext("2d", { alpha: false });
    pen.scale(this.ratio, this.ratio);
    const from = (place * TILE) / scale, to = ((place + 1) * TILE) / scale;
    const x = (time) => (time - from) * scale;
    const look = this.player.look;
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, TILE, this.height);
    this.drawBack(pen, x, from, to);
    if (counted) this.drawCounts(pen, x, from, to, scale);
    else {
      this.drawGroups(pen, x, from, to, scale);
      this.drawMessages(pen, x, from, to);
    }
    return tile;
  }

  drawBack(pen, x, from, to) {
    const { look, run } = this.player;
    for (const quiet of run.quiet) {
      if (quiet.until < from || quiet.at > to) continue;
      pen.fillStyle = look.hatch(pen, look.faint);
      pen.fillRect(x(quiet.at), 0, x(quiet.until) - x(quiet.at), this.height - AXIS);
    }
    for (const [begin, end] of [[-1e9, run.window[0]], [run.window[1], 1e9]]) {
      const [left, right] = [Math.max(begin, from), Math.min(end, to)];
      if (left >= right || (begin < 0 && run.window[0] <= 0)) continue;
      pen.fillStyle = look.faint;
      pen.fillRect(x(left), 0, x(right) - x(left), this.height - AXIS);
    }
    for (const [node, line] of this.lines) {
      const top = line - this.above;
      for (const band of run.bands) {
        if (band.node !== node || band.until < from || band.at > to) continue;
        this.drawBand(pen, band, x(band.at), x(band.until), top);
      }
      this.marks.line(pen, node, line, x, 0, TILE);
      this.marks.begins(pen, node, line, x, this.above);
    }
    for (const event of run.events) {
      if (event.load || event.at < from - 1 / this.scale || event.at > to) continue;
      pen.fillStyle = look.palette[1];
      pen.fillRect(x(event.at) - 1, 0, 2, this.height - AXIS);
    }
  }

  drawBand(pen, band, left, right, top) {
    const look = this.player.look;
    const colour = { down: look.ink, paused: look.palette[4], cut: look.palette[1], out: look.palette[3], slow: look.palette[4] }[band.kind];
    pen.save();
    pen.globalAlpha = band.kind === "down" ? 0.5 : 0.28;
    pen.fillStyle = band.kind === "down" || band.kind === "cut" ? look.hatch(pen, colour) : colour;
    const begin = Math.max(-2, left), end = Math.min(TILE + 2, right);
    pen.fillRect(begin, top + 1, Math.max(1, end - begin), this.strip - 3);
    pen.restore();
  }

  // -- bars of transactions, and of what is done for them elsewhere ----------------------------------

  laneBox(group) {
    const line = this.lines.get(group.node);
    if (line === undefined) return null;
    const top = line + 4, room = this.strip - this.above - 7;
    const lanes = Math.max(1, this.player.run.groups.lanes[group.node]);
    const height = Math.min(13, Math.max(2.5, room / lanes));
    const y = top + group.lane * height;
    return y + height > top + room + 0.5 ? null : [y, Math.max(1.5, height - 1)];
  }

  drawGroups(pen, x, from, to, scale) {
    const { run, look } = this.player, failed = [];
    // The error of an attempt may reach into the next tile.
    run.groups.spells.each(from - 70 / scale, to + 8 / scale, (place) => {
      const group = run.groups.all[place], box = this.laneBox(group);
      if (!box) return;
      const [y, height] = box;
      const width = (group.ended - group.began) * scale;
      if (group.error) failed.push([group, y, height, width]);
      if (width < 3) {
        pen.fillStyle = group.of >= 0 && group.node === run.transactions.node[group.of] ? look.palette[5] : look.grey;
        pen.fillRect(x(group.began), y, Math.max(1, width), height);
        return;
      }
      for (const part of run.partsOf(group)) this.drawPart(pen, part, x, scale, y, height);
    });
    this.marks.failed(pen, failed, x, TILE);
  }

  drawPart(pen, part, x, scale, y, height) {
    if (part.ended <= part.began) return;
    const look = this.player.look;
    const left = Math.max(-4, x(part.began)), right = Math.min(TILE + 4, x(part.ended));
    if (right < left) return;
    pen.fillStyle = look.fill(pen, part.stage);
    if (part.waits) {
      pen.globalAlpha = 0.45;
      pen.fillRect(left, y + height * 0.3, Math.max(0.8, right - left), height * 0.4);
      pen.globalAlpha = 1;
    } else pen.fillRect(left, y, Math.max(0.8, right - left), height);
    const room = right - left;
    if (height >= 10 && room > 34) {
      pen.font = `9px ${look.font}`;
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      const text = fitted(pen, part.station || part.stage, room - 6);
      const wide = pen.measureText(text).width;
      pen.fillStyle = look.paper;
      pen.globalAlpha = 0.85;
      pen.fillRect(left + 2, y + 0.5, wide + 3, height - 1);
      pen.globalAlpha = 1;
      pen.fillStyle = look.ink;
      pen.fillText(text, left + 3.5, y + height / 2 + 0.5);
    }
  }

  // -- messages ------------------------------------------------------------------------------------

  ends(i, x) {
    const { messages } = this.player.run;
    const from = this.lines.get(messages.source[i]), to = this.lines.get(messages.target[i]);
    if (from === undefined || to === undefined || !this.player.kindShown[messages.kind[i]]) return null;
    const lost = !(messages.arrived[i] >= 0);
    const left = x(messages.sent[i]), right = x(messages.gone[i]);
    return [left, from, right, lost ? from + 0.6 * (to - from) : to, lost];
  }

  drawMessages(pen, x, from, to) {
    const { run, look, kindLooks } = this.player, { messages } = run;
    const byKind = messages.kinds.map(() => []);
    let count = 0;
    messages.spells.each(from, to, (i) => { byKind[messages.kind[i]].push(i); count++; });
    pen.lineWidth = count > 400 ? 0.8 : 1.3;
    pen.globalAlpha = Math.min(0.9, Math.max(0.22, 500 / count));
    const arrows = count < 150, labels = count < 45;
    byKind.forEach((listed, kind) => {
      if (!listed.length || !this.player.kindShown[kind]) return;
      const style = kindLooks[kind];
      pen.strokeStyle = pen.fillStyle = look.ofKind(style.colour);
      pen.setLineDash(count > 1500 ? [] : style.dash);
      pen.beginPath();
      for (const i of listed) {
        const ends = this.ends(i, x);
        if (!ends) continue;
        const [x0, y0, x1, y1] = clipped(ends);
        pen.moveTo(x0, y0);
        pen.lineTo(x1, y1);
      }
      pen.stroke();
      pen.setLineDash([]);
      for (const i of listed) {
        const ends = this.ends(i, x);
        if (!ends) continue;
        if (ends[4]) drawShape(pen, "cross", ends[2], ends[3], 4);
        else if (arrows) drawArrow(pen, ends);
        if (labels) this.drawLabel(pen, i, ends);
      }
    });
    pen.globalAlpha = 1;
  }

  drawLabel(pen, i, [x0, y0, x1, y1]) {
    const { run, look } = this.player;
    if (x1 - x0 < 40) return;
    const share = 0.3, x = x0 + share * (x1 - x0), y = y0 + share * (y1 - y0);
    pen.save();
    pen.translate(x, y);
    pen.rotate(Math.atan2(y1 - y0, x1 - x0));
    pen.font = `10px ${look.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "bottom";
    pen.globalAlpha = 1;
    pen.lineWidth = 3;
    pen.strokeStyle = look.paper;
    const text = fitted(pen, run.messages.labels[run.messages.label[i]], Math.hypot(x1 - x0, y1 - y0) * 0.6);
    pen.strokeText(text, 0, -2);
    pen.fillText(text, 0, -2);
    pen.restore();
  }

  // Where there are too many messages for lines: how many each node sends (above its line), and how
  // many transactions are under way on it (below).
  drawCounts(pen, x, from, to, scale) {
    const { run, look } = this.player, { messages, groups } = run;
    const step = 2, columns = TILE / step;
    const sent = new Map([...this.lines.keys()].map((node) => [node, new Float64Array(columns + 1)]));
    const open = new Map([...this.lines.keys()].map((node) => [node, new Float64Array(columns + 2)]));
    const failed = new Map([...this.lines.keys()].map((node) => [node, new Float64Array(columns + 1)]));
    const column = (time) => Math.min(columns, Math.max(0, Math.floor(x(time) / step)));
    const begin = above(messages.sent, from), end = above(messages.sent, to);
    for (let i = begin; i < end; i++) {
      const counts = sent.get(messages.source[i]);
      if (counts && this.player.kindShown[messages.kind[i]]) counts[column(messages.sent[i])]++;
    }
    groups.spells.each(from, to, (place) => {
      const group = groups.all[place], counts = open.get(group.node);
      if (counts && group.error && group.ended >= from && group.ended < to) failed.get(group.node)[column(group.ended)]++;
      if (!counts || group.of < 0 || run.transactions.node[group.of] !== group.node) return;
      const first = column(group.began), last = column(group.ended) + 1;
      const share = first + 1 === last ? ((group.ended - group.began) * scale) / step : 1;
      counts[first] += share;
      counts[last] -= share;
    });
    const most = this.player.mostSent(step / scale);
    for (const [node, line] of this.lines) {
      const up = this.above - 4, down = 0.62 * this.strip;
      const lanes = Math.max(1, groups.lanes[node]);
      let now = 0;
      for (let place = 0; place < columns; place++) {
        const height = Math.min(1, sent.get(node)[place] / most) * up;
        pen.fillStyle = look.palette[0];
        if (height > 0) pen.fillRect(place * step, line - height, step, height);
        now += open.get(node)[place];
        const below = Math.min(1, now / lanes) * down;
        pen.fillStyle = look.palette[5];
        if (below > 0.3) pen.fillRect(place * step, line + 1, step, below);
        // A mark for every column in which attempts failed, more of them the higher.
        const times = failed.get(node)[place];
        if (!times) continue;
        pen.fillStyle = look.failed;
        const up2 = Math.min(0.3 * this.strip, 3 + 2 * Math.log2(1 + times));
        pen.fillRect(place * step, line + this.strip - this.above - 3 - up2, step, up2);
      }
    }
  }

  // -- above the tiles -----------------------------------------------------------------------------

  drawChosen(pen) {
    const { player } = this, { run, look, kindLooks } = player, chosen = player.chosen;
    if (chosen < 0) return;
    const { messages, transactions } = run, x = (time) => this.x(time);
    pen.globalAlpha = 0.62;
    pen.fillStyle = look.paper;
    pen.fillRect(this.gutter, 0, this.width, this.height - AXIS);
    pen.globalAlpha = 1;
    for (const [node, line] of this.lines) this.marks.line(pen, node, line, x, this.gutter, this.width);
    for (const group of player.groupsOf(chosen)) {
      const box = this.laneBox(group);
      if (!box || x(group.ended) < this.gutter || x(group.began) > this.width) continue;
      for (const part of run.partsOf(group)) {
        const left = Math.max(this.gutter - 4, x(part.began)), right = Math.min(this.width + 4, x(part.ended));
        if (right < left) continue;
        pen.fillStyle = look.fill(pen, part.stage);
        pen.globalAlpha = part.waits ? 0.5 : 1;
        pen.fillRect(left, box[0], Math.max(1, right - left), Math.max(4, box[1]));
        pen.globalAlpha = 1;
      }
      pen.strokeStyle = look.ink;
      pen.lineWidth = 1;
      const left = Math.max(this.gutter - 4, x(group.began)), right = Math.min(this.width + 4, x(group.ended));
      pen.strokeRect(left, box[0] - 0.5, Math.max(2, right - left), Math.max(4, box[1]) + 1);
      if (group.error) this.marks.failed(pen, [[group, box[0], Math.max(6, box[1]), right - left]], x, this.width);
    }
    const critical = new Set(transactions.critical(chosen));
    for (const i of new Set([...player.messagesOf(chosen), ...critical])) {
      const ends = this.ends(i, x);
      if (!ends || ends[2] < this.gutter || ends[0] > this.width) continue;
      pen.strokeStyle = pen.fillStyle = critical.has(i) ? look.ink : look.ofKind(kindLooks[messages.kind[i]].colour);
      pen.lineWidth = critical.has(i) ? 2.6 : 1.4;
      pen.setLineDash(critical.has(i) ? [] : kindLooks[messages.kind[i]].dash);
      const [x0, y0, x1, y1] = clipped(ends);
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
      pen.stroke();
      pen.setLineDash([]);
      if (ends[4]) drawShape(pen, "cross", ends[2], ends[3], 4);
      else drawArrow(pen, ends);
      if (critical.size < 30) this.drawLabel(pen, i, ends);
    }
  }

  drawHover(pen) {
    const { hover, look } = this.player;
    if (!hover) return;
    pen.strokeStyle = pen.fillStyle = look.ink;
    if (hover.message >= 0) {
      const ends = this.ends(hover.message, (time) => this.x(time));
      if (!ends) return;
      pen.lineWidth = 3;
      const [x0, y0, x1, y1] = clipped(ends);
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
      pen.stroke();
      if (!ends[4]) drawArrow(pen, ends);
    } else if (hover.part) {
      const box = this.laneBox(hover.group);
      const left = Math.max(this.gutter - 4, this.x(hover.part.began)), right = Math.min(this.width + 4, this.x(hover.part.ended));
      pen.lineWidth = 2;
      if (box) pen.strokeRect(left, box[0] - 1, Math.max(3, right - left), Math.max(4, box[1]) + 2);
    }
  }

  // Where the film is: a line, and every message that is on its way then.
  drawHead(pen) {
    const { player } = this, { run, look, kindLooks } = player, { messages } = run, at = player.at;
    const x = Math.round(this.x(at)) + 0.5;
    pen.strokeStyle = look.ink;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, this.height - AXIS);
    pen.stroke();
    let left = 400;
    messages.spells.each(at, at, (i) => {
      if (left-- < 0 || messages.gone[i] <= at) return;
      const ends = this.ends(i, (time) => time);
      if (!ends) return;
      const share = (at - messages.sent[i]) / (messages.gone[i] - messages.sent[i] || 1);
      const style = kindLooks[messages.kind[i]];
      pen.fillStyle = look.ofKind(style.colour);
      drawShape(pen, style.shape, x, ends[1] + share * (ends[3] - ends[1]), 4);
    });
  }

  drawNames(pen) {
    const { player, narrow } = this, { look, run } = player;
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, this.gutter, this.height);
    pen.textAlign = "left";
    for (const [node, line] of this.lines) {
      const band = player.bandAt(node, player.at), room = narrow ? this.width * 0.6 : this.gutter - 10;
      pen.textBaseline = narrow ? "bottom" : "middle";
      pen.font = `600 ${narrow ? 11 : 13}px ${look.font}`;
      const name = fitted(pen, run.nodes[node], room), wide = pen.measureText(name).width;
      const y = narrow ? line - 1 : line;
      pen.lineWidth = 3;
      pen.strokeStyle = look.paper;
      if (narrow) pen.strokeText(name, 4, y);
      pen.fillStyle = look.ink;
      pen.fillText(name, 4, y);
      const writer = player.writerAt(node, player.at);
      let beside = 10 + wide;
      if (writer) {
        const most = narrow ? 110 : this.gutter - 6;
        const taken = drawBadge(pen, look, player.writerWord(writer), narrow ? beside : 4, narrow ? line - 9 : line + 17, { outside: writer.outside, most });
        beside += taken + 6;
        pen.textBaseline = narrow ? "bottom" : "middle";
        pen.lineWidth = 3;
        pen.strokeStyle = look.paper;
      }
      if (band) {
        pen.font = `11px ${look.font}`;
        pen.fillStyle = look.failed;
        const [x, below] = narrow ? [beside, y] : [4, line + (writer ? 33 : 15)];
        const word = fitted(pen, WORDS[band.kind], room);
        if (narrow) pen.strokeText(word, x, below);
        pen.fillText(word, x, below);
      }
      pen.strokeStyle = look.faint;
      pen.lineWidth = 1;
      pen.beginPath();
      const top = line - this.above;
      pen.moveTo(0, top + 0.5);
      pen.lineTo(this.width, top + 0.5);
      pen.stroke();
    }
  }

  drawAxis(pen) {
    const { player } = this, { look } = player, span = player.span;
    const step = niceStep((96 / (this.width - this.gutter)) * span);
    // Beyond a thousand steps a time has too many digits: ticks then count from a time that is named.
    const chosen = player.chosen >= 0 ? player.run.transactions.started[player.chosen] : NaN;
    let origin = 0, said = "simulated time";
    if (chosen <= player.to && chosen >= player.from - 20 * span && span < 1) {
      origin = chosen;
      said = "since it began";
    } else if (step < 1e-3) {
      origin = Math.floor(player.from / (step * 1000)) * step * 1000;
      said = `${origin.toFixed(Math.max(0, Math.ceil(-Math.log10(step * 1000))))} s +`;
    }
    const y = this.height - AXIS;
    pen.fillStyle = look.paper;
    pen.fillRect(0, y, this.width, AXIS);
    pen.strokeStyle = look.soft;
    pen.fillStyle = look.ink;
    pen.font = `11px ${look.font}`;
    pen.textBaseline = "top";
    pen.textAlign = "center";
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(this.gutter, y + 0.5);
    pen.lineTo(this.width, y + 0.5);
    for (let n = Math.ceil((player.from - origin) / step); origin + n * step <= player.to; n++) {
      const x = Math.round(this.x(origin + n * step)) + 0.5;
      pen.moveTo(x, y);
      pen.lineTo(x, y + 5);
      const text = origin === 0 && step >= 1e-3 ? tickText(n * step, step) : duration(n * step);
      if (x > (this.narrow ? 20 : this.gutter + 4) && x < this.width - 22) pen.fillText(text, x, y + 8);
    }
    pen.stroke();
    pen.textAlign = "left";
    pen.fillStyle = look.soft;
    if (!this.narrow) pen.fillText(fitted(pen, said, this.gutter), 2, y + 8);
  }

  // -- what is under the pointer ---------------------------------------------------------------------

  find(px, py) {
    const { player } = this, { run } = player;
    if (px < this.gutter || py > this.height - AXIS) return null;
    const time = this.time(px), reach = 6 / this.scale;
    if (run.messages.spells.count(player.from, player.to) > MOST_LINES) return null;
    let best = null, least = 7;
    const only = player.chosen >= 0 ? new Set([...player.messagesOf(player.chosen), ...run.transactions.critical(player.chosen)]) : null;
    run.messages.spells.each(time - reach, time + reach, (i) => {
      const ends = this.ends(i, (one) => this.x(one));
      if (!ends) return;
      const apart = distance(px, py, ends) - (only && only.has(i) ? 3 : 0);
      if (apart < least) { least = apart; best = { message: i }; }
    });
    if (best && least < 4) return best;
    run.groups.spells.each(time - reach / 2, time + reach / 2, (place) => {
      const group = run.groups.all[place], box = this.laneBox(group);
      if (!box || py < box[0] - 1 || py > box[0] + Math.max(4, box[1]) + 1) return;
      const parts = run.partsOf(group);
      const part = parts.find((one) => one.began <= time && time <= one.ended) || parts.find((one) => one.ended > time) || parts[parts.length - 1];
      if (part) best = { message: -1, group, part };
    });
    return best;
  }
}

const WORDS = { down: "down", paused: "stopped", cut: "cut off", out: "out", slow: "slow" };

// Far outside of the picture lines lose their precision: they are cut there.
function clipped([x0, y0, x1, y1]) {
  const low = -3000, high = 6000;
  const cut = (x) => y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
  const left = x0 < low ? [low, cut(low)] : [x0, y0];
  const right = x1 > high ? [high, cut(high)] : [x1, y1];
  return [...left, ...right];
}

function drawArrow(pen, ends) {
  const [x0, y0, x1, y1] = clipped(ends), turn = Math.atan2(y1 - y0, x1 - x0), size = 7;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x1 - size * Math.cos(turn - 0.38), y1 - size * Math.sin(turn - 0.38));
  pen.lineTo(x1 - size * Math.cos(turn + 0.38), y1 - size * Math.sin(turn + 0.38));
  pen.fill();
}

function distance(px, py, [x0, y0, x1, y1]) {
  const dx = x1 - x0, dy = y1 - y0;
  const share = Math.min(1, Math.max(0, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(px - x0 - share * dx, py - y0 - share * dy);
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const one of [1, 2, 5, 10]) if (one * power >= least) return one * power;
  return 10 * power;
}

function tickText(value, step) {
  return `${value.toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)))} s`;
}
