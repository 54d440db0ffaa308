// What the picture marks at the nodes: which of them take writes, and attempts that failed.

class Marks {
  constructor(player) { this.player = player; }

  // The line of a node: thick while it takes writes, dashed while it takes them for itself.
  line(pen, node, line, x, left, right) {
    const { look, run } = this.player;
    pen.strokeStyle = look.soft;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(left, line);
    pen.lineTo(right, line);
    pen.stroke();
    pen.strokeStyle = look.ink;
    pen.lineWidth = 4;
    for (const spell of run.writers) {
      if (spell.node !== node) continue;
      const from = Math.max(left - 4, x(spell.at)), to = Math.min(right + 4, x(spell.until));
      if (to <= from) continue;
      pen.setLineDash(spell.outside ? [6, 5] : []);
      pen.lineDashOffset = from - x(spell.at);
      pen.beginPath();
      pen.moveTo(from, line);
      pen.lineTo(to, line);
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.lineDashOffset = 0;
  }

  // Where a node begins to take writes.
  begins(pen, node, line, x, above) {
    const { look, run } = this.player;
    if (above < 24) return;
    for (const spell of run.writers) {
      if (spell.node !== node || spell.at <= 0 || x(spell.until) - x(spell.at) < 30) continue;
      drawBadge(pen, look, this.player.writerWord(spell), x(spell.at), line - 11, { outside: spell.outside });
    }
  }

  // A frame around each attempt that failed, and at its end a cross in a ring with the error.
  failed(pen, failed, x, wide) {
    const { look } = this.player, few = failed.length < 60;
    for (const [group, y, height, width] of failed) {
      const left = Math.max(-4, x(group.began)), right = Math.min(wide + 4, x(group.ended));
      pen.strokeStyle = look.failed;
      pen.lineWidth = 1;
      if (width >= 3 && height > 3) pen.strokeRect(left, y - 0.5, right - left, height + 1);
    }
    for (const [group, y, height] of failed) {
      const end = x(group.ended), middle = y + height / 2;
      if (end < -60 || end > wide + 8) continue;
      drawFailure(pen, end, middle, few ? 5 : 3.2, look);
      if (!few || height < 6) continue;
      pen.font = `600 10px ${look.font}`;
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      pen.lineWidth = 3;
      pen.strokeStyle = look.paper;
      pen.fillStyle = look.failed;
      const code = fitted(pen, codeOf(group.error), 110);
      pen.strokeText(code, end + 7, middle + 0.5);
      pen.fillText(code, end + 7, middle + 0.5);
    }
  }
}
