// The same as a film: nodes in a ring, messages travelling between them.

class Film {
  constructor(player, canvas) {
    this.player = player;
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
  }

  resize() {
    // Below each other nodes need room for their names.
    const least = 90 + 32 * this.player.run.nodes.length;
    this.canvas.style.minHeight = `${Math.min(420, least)}px`;
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.width = Math.max(80, box.width);
    this.height = Math.max(80, box.height);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.place();
  }

  place() {
    const shown = this.player.shownNodes(), count = shown.length;
    this.size = Math.max(15, Math.min(34, 110 / Math.max(2, count) + 8, this.height / 8));
    if (count > 6) this.size = Math.min(this.size, 17);
    const rx = Math.max(10, this.width / 2 - Math.max(this.size + 8, Math.min(70, this.width * 0.2)));
    const ry = Math.max(10, this.height / 2 - this.size - 24);
    this.places = new Map(shown.map((node, row) => {
      const angle = (2 * Math.PI * row) / count - Math.PI / 2;
      const far = count === 1 ? 0 : 1;
      return [node, [this.width / 2 + far * rx * Math.cos(angle), this.height / 2 - 6 + far * ry * Math.sin(angle)]];
    }));
  }

  draw() {
    const { player, pen, ratio } = this, { run, look, kindLooks, at } = player, { messages } = run;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, this.width, this.height);
    pen.strokeStyle = look.faint;
    pen.lineWidth = 1.5;
    const nodes = [...this.places];
    for (let a = 0; a < nodes.length; a++) {
      for (let b = a + 1; b < nodes.length; b++) {
        pen.beginPath();
        pen.moveTo(...nodes[a][1]);
        pen.lineTo(...nodes[b][1]);
        pen.stroke();
      }
    }
    const open = new Map();
    run.groups.spells.each(at, at, (place) => {
      const group = run.groups.all[place];
      if (group.of < 0 || run.transactions.node[group.of] !== group.node) return;
      open.set(group.node, (open.get(group.node) || 0) + 1);
    });
    const own = player.chosen >= 0 ? new Set(player.messagesOf(player.chosen)) : null;
    let left = 500;
    messages.spells.each(at, at, (i) => {
      const from = this.places.get(messages.source[i]), to = this.places.get(messages.target[i]);
      if (!from || !to || !player.kindShown[messages.kind[i]] || messages.gone[i] <= at || left-- < 0) return;
      const lost = !(messages.arrived[i] >= 0);
      const share = ((at - messages.sent[i]) / (messages.gone[i] - messages.sent[i] || 1)) * (lost ? 0.6 : 1);
      const dx = to[0] - from[0], dy = to[1] - from[1], far = Math.hypot(dx, dy) || 1;
      // Both directions of a link, beside each other; from edge to edge of the nodes.
      const edge = this.size / far, way = edge + share * (1 - 2 * edge), aside = 5;
      const x = from[0] + way * dx - (aside * dy) / far, y = from[1] + way * dy + (aside * dx) / far;
      const style = kindLooks[messages.kind[i]];
      pen.globalAlpha = own && !own.has(i) ? 0.3 : 1;
      pen.fillStyle = look.ofKind(style.colour);
      drawShape(pen, lost && share > 0.5 ? "cross" : style.shape, x, y, own && own.has(i) ? 7 : 5);
      pen.globalAlpha = 1;
    });
    for (const [node, place] of nodes) this.drawNode(pen, node, place, open.get(node) || 0);
  }

  drawNode(pen, node, [x, y], open) {
    const { player, size } = this, { look, run } = player;
    const band = player.bandAt(node, player.at);
    const committed = player.committedRecently(node);
    pen.beginPath();
    pen.arc(x, y, size, 0, 2 * Math.PI);
    pen.fillStyle = band && band.kind === "down" ? look.faint : look.paper;
    pen.fill();
    if (committed > 0) {
      pen.globalAlpha = 0.35 * committed;
      pen.fillStyle = look.palette[2];
      pen.fill();
      pen.globalAlpha = 1;
    }
    pen.lineWidth = 2.5;
    pen.strokeStyle = band ? look.palette[1] : look.ink;
    pen.setLineDash(band ? [4, 4] : []);
    pen.stroke();
    pen.setLineDash([]);
    if (band && band.kind === "down") {
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(x - size * 0.6, y - size * 0.6);
      pen.lineTo(x + size * 0.6, y + size * 0.6);
      pen.moveTo(x + size * 0.6, y - size * 0.6);
      pen.lineTo(x - size * 0.6, y + size * 0.6);
      pen.stroke();
    }
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = look.ink;
    if (!(band && band.kind === "down")) {
      const wide = size > 20; // else there is no room for the word
      pen.font = `600 ${wide ? 11 : Math.max(11, Math.round(size * 0.55))}px ${look.font}`;
      pen.fillText(open ? `${open}${wide ? (open === 1 ? " waits" : " wait") : ""}` : "", x, y);
    }
    pen.font = `600 ${this.places.size > 6 ? 11 : 12}px ${look.font}`;
    const room = Math.max(50, Math.min(150, this.width / Math.max(2, this.places.size / 1.6) - 8));
    const left = Math.min(Math.max(x, room / 2), this.width - room / 2);
    pen.lineWidth = 3;
    pen.strokeStyle = look.paper;
    const below = y + size + 10;
    const name = fitted(pen, run.nodes[node], room);
    pen.strokeText(name, left, below);
    pen.fillText(name, left, below);
    const writer = player.writerAt(node, player.at);
    if (writer) drawBadge(pen, look, player.writerWord(writer), left, y - size - 9, { outside: writer.outside, centred: true, most: room });
    pen.textAlign = "center";
    pen.lineWidth = 3;
    pen.strokeStyle = look.paper;
    if (band) {
      pen.font = `11px ${look.font}`;
      pen.fillStyle = look.failed;
      pen.strokeText(WORDS[band.kind], left, below + 13);
      pen.fillText(WORDS[band.kind], left, below + 13);
    }
  }
}
