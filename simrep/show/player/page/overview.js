// The whole run in one line: commits, failures, stalls, faults, views, and the part that is in view.

class Overview {
  constructor(player, canvas) {
    this.player = player;
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.drag = null;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { this.drag = null; });
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.width = Math.max(80, box.width);
    this.height = Math.max(30, box.height);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.back = null;
  }

  forget() { this.back = null; }
  x(time) { return (time / this.player.run.length) * this.width; }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const time = (event.offsetX / this.width) * this.player.run.length;
    const { from, to } = this.player;
    const inside = time >= from && time <= to && this.x(to) - this.x(from) > 12;
    this.drag = { offset: inside ? time - from : (to - from) / 2 };
    this.move(event);
  }

  move(event) {
    if (!this.drag) return;
    const time = (event.offsetX / this.width) * this.player.run.length;
    this.player.lookAt(time - this.drag.offset, this.player.span);
  }

  draw() {
    const { player, pen, ratio } = this, { look } = player;
    if (!this.back) this.back = this.makeBack();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(this.back, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    let left = this.x(player.from), right = this.x(player.to);
    if (right - left < 4) { left = (left + right) / 2 - 2; right = left + 4; }
    pen.fillStyle = look.ink;
    pen.globalAlpha = 0.12;
    pen.fillRect(left, 0, right - left, this.height);
    pen.globalAlpha = 1;
    pen.strokeStyle = look.ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(left, 1, right - left, this.height - 2);
    pen.beginPath();
    pen.moveTo(this.x(player.at), 0);
    pen.lineTo(this.x(player.at), this.height);
    pen.stroke();
  }

  // Messages of the whole run as a line.
  drawSent(pen, floor, room) {
    const { run, look } = this.player, { messages } = run.rates, most = Math.max(...messages);
    if (!most) return;
    pen.strokeStyle = look.palette[0];
    pen.globalAlpha = 0.7;
    pen.lineWidth = 1;
    pen.beginPath();
    messages.forEach((count, place) => {
      pen.lineTo(this.x((place + 0.5) * run.rates.width), floor - (count / most) * room);
    });
    pen.stroke();
    pen.globalAlpha = 1;
  }

  makeBack() {
    const back = document.createElement("canvas");
    back.width = this.canvas.width;
    back.height = this.canvas.height;
    const pen = back.getContext("2d", { alpha: false }), { run, look } = this.player, { rates } = run;
    pen.scale(this.ratio, this.ratio);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, this.width, this.height);
    const room = this.height - 16, floor = this.height - 2;
    for (const quiet of run.quiet) {
      pen.fillStyle = look.hatch(pen, look.palette[1]);
      pen.globalAlpha = 0.5;
      pen.fillRect(this.x(quiet.at), 14, Math.max(1, this.x(quiet.until) - this.x(quiet.at)), room);
      pen.globalAlpha = 1;
    }
    // As wide as two pixels at least: neighbours are then taken together.
    const bins = Math.min(rates.commits.length, Math.floor(this.width / 2));
    const commits = new Float64Array(bins), aborts = new Float64Array(bins);
    rates.commits.forEach((count, place) => {
      const bin = Math.floor((place * bins) / rates.commits.length);
      commits[bin] += count;
      aborts[bin] += rates.aborts[place];
    });
    const most = Math.max(1, ...commits.map((count, place) => count + aborts[place]));
    const wide = this.width / bins;
    for (let bin = 0; bin < bins; bin++) {
      const up = (commits[bin] / most) * room, failed = (aborts[bin] / most) * room;
      pen.fillStyle = look.palette[2];
      pen.fillRect(bin * wide, floor - up, wide + 0.3, up);
      pen.fillStyle = look.palette[1];
      pen.fillRect(bin * wide, floor - up - failed, wide + 0.3, failed);
    }
    this.drawSent(pen, floor, room);
    pen.font = `10px ${look.font}`;
    pen.textBaseline = "top";
    pen.textAlign = "right";
    pen.lineWidth = 3;
    pen.strokeStyle = look.paper;
    pen.fillStyle = look.soft;
    const text = `commits, at most ${figures(Math.max(...rates.commits) / rates.width, 2)}/s`;
    pen.strokeText(text, this.width - 4, 3);
    pen.fillText(text, this.width - 4, 3);
    pen.fillStyle = look.faint;
    pen.globalAlpha = 0.75;
    if (run.window[0] > 0) pen.fillRect(0, 0, this.x(run.window[0]), this.height);
    if (run.window[1] < run.length) pen.fillRect(this.x(run.window[1]), 0, this.width, this.height);
    pen.globalAlpha = 1;
    for (const note of run.notes) {
      if (note.kind === "view") {
        pen.fillStyle = look.palette[0];
        drawShape(pen, "diamond", this.x(note.at), 7, 3.5);
      }
    }
    for (const event of run.events) {
      if (event.load) continue;
      pen.fillStyle = look.palette[1];
      pen.fillRect(this.x(event.at) - 0.75, 0, 1.5, this.height);
      drawShape(pen, "down", this.x(event.at), 6, 5);
    }
    return back;
  }
}
