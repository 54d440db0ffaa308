// Colours, dashes and shapes, and how figures are written.

// Okabe and Ito's set for all kinds of colour vision, without its yellow.
const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const DARK_PALETTE = ["#4BA3DB", "#F0813A", "#2FC49B", "#E0A0C2", "#F0B429", "#8CCBF0"];
// Kinds of messages are more: these come after the set.
const MORE = ["#999933", "#882255", "#7B3FE4"], DARK_MORE = ["#C9C96B", "#D987AE", "#B496F5"];
const GREY = "#6B7280";
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
const SHAPES = ["circle", "square", "diamond", "triangle", "down", "plus", "cross"];

// By name of the stage: its place in the palette (-1: grey), and whether it is hatched.
const STAGES = {
  "client": [-1, false], "execute": [5, false], "lock wait": [1, false], "queue": [4, false],
  "consistency": [3, true], "send window": [3, false], "order": [0, false],
  "certification": [2, true], "flush": [2, false], "acknowledgement": [3, false],
  "commit order": [4, true], "commit": [5, true], "retries": [1, true], "other": [-1, true],
};

class Look {
  constructor(element) {
    const style = getComputedStyle(element);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.dark = colour("--dark") === "1";
    this.ink = colour("--ink");
    this.soft = colour("--soft");
    this.faint = colour("--faint");
    this.paper = colour("--paper");
    this.palette = this.dark ? DARK_PALETTE : PALETTE;
    this.kinds = [...this.palette, ...(this.dark ? DARK_MORE : MORE)];
    this.failed = this.dark ? "#FF9A66" : "#A33F00";
    this.grey = this.dark ? "#9CA3AF" : GREY;
    this.font = style.fontFamily || "sans-serif";
    this.hatches = new Map();
  }

  colour(place) {
    return place < 0 ? this.grey : this.palette[place % this.palette.length];
  }

  ofKind(place) {
    return this.kinds[place % this.kinds.length];
  }

  stage(name) {
    return this.colour((STAGES[name] || STAGES.other)[0]);
  }

  // What fills the bar of a stage: its colour, or stripes of it.
  fill(context, name) {
    const [place, hatched] = STAGES[name] || STAGES.other;
    return hatched ? this.hatch(context, this.colour(place)) : this.colour(place);
  }

  hatch(context, colour) {
    if (!this.hatches.has(colour)) {
      const tile = document.createElement("canvas"), size = 8;
      tile.width = tile.height = size;
      const pen = tile.getContext("2d");
      pen.fillStyle = colour;
      pen.globalAlpha = 0.3;
      pen.fillRect(0, 0, size, size);
      pen.globalAlpha = 1;
      pen.strokeStyle = colour;
      pen.lineWidth = 2.6;
      pen.beginPath();
      for (const x of [-size, 0, size]) { pen.moveTo(x - 2, size + 2); pen.lineTo(x + size + 2, -2); }
      pen.stroke();
      this.hatches.set(colour, context.createPattern(tile, "repeat"));
    }
    return this.hatches.get(colour);
  }
}

// How each kind of message looks: what carries transactions comes first.
function looksOfKinds(messages) {
  const order = messages.kinds.map((_, kind) => kind);
  order.sort((a, b) => messages.carries[b] - messages.carries[a] || a - b);
  const looks = [];
  order.forEach((kind, place) => {
    looks[kind] = { colour: place % (PALETTE.length + MORE.length), dash: DASHES[place % DASHES.length],
                    shape: SHAPES[place % SHAPES.length] };
  });
  return looks;
}

function drawShape(pen, shape, x, y, r) {
  pen.beginPath();
  if (shape === "circle") pen.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "square") pen.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
  else if (shape === "plus" || shape === "cross") {
    const turn = shape === "plus" ? 0 : Math.PI / 4, w = r * 0.38;
    const points = [[-w, -r], [w, -r], [w, -w], [r, -w], [r, w], [w, w], [w, r], [-w, r], [-w, w], [-r, w], [-r, -w], [-w, -w]];
    for (const [dx, dy] of points) {
      pen.lineTo(x + 1.15 * (dx * Math.cos(turn) - dy * Math.sin(turn)), y + 1.15 * (dx * Math.sin(turn) + dy * Math.cos(turn)));
    }
    pen.closePath();
  } else {
    const corners = shape === "diamond" ? [0, 1, 2, 3] : shape === "triangle" ? [0, 4 / 3, 8 / 3] : [2, 10 / 3, 14 / 3];
    for (const corner of corners) {
      const angle = (corner * Math.PI) / 2 - Math.PI / 2;
      pen.lineTo(x + 1.25 * r * Math.cos(angle), y + 1.25 * r * Math.sin(angle));
    }
    pen.closePath();
  }
  pen.fill();
}

// A failed attempt: a cross in a ring, which no message has.
function drawFailure(pen, x, y, r, look) {
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
  pen.fillStyle = look.paper;
  pen.fill();
  pen.lineWidth = r > 4 ? 1.8 : 1.3;
  pen.strokeStyle = look.failed;
  const d = 0.62 * r;
  pen.moveTo(x - d, y - d);
  pen.lineTo(x + d, y + d);
  pen.moveTo(x + d, y - d);
  pen.lineTo(x - d, y + d);
  pen.stroke();
}

// Words on a dark ground, or in a dashed frame: who takes writes. Returns how wide it is.
function drawBadge(pen, look, text, x, y, { outside = false, centred = false, most = 200 } = {}) {
  pen.font = `600 10px ${look.font}`;
  const said = fitted(pen, text, most - 8), wide = pen.measureText(said).width + 8, left = centred ? x - wide / 2 : x;
  pen.beginPath();
  pen.rect(left, y - 7, wide, 14);
  pen.fillStyle = outside ? look.paper : look.ink;
  pen.fill();
  pen.lineWidth = 1;
  pen.strokeStyle = look.ink;
  pen.setLineDash(outside ? [3, 2] : []);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = outside ? look.ink : look.paper;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.fillText(said, left + 4, y + 0.5);
  return wide;
}

function figures(value, digits = 3) {
  if (value === 0) return "0";
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits))))));
  return value.toLocaleString("en", { minimumFractionDigits: Math.min(decimals, 9), maximumFractionDigits: Math.min(decimals, 9) });
}

function duration(seconds) {
  if (!Number.isFinite(seconds)) return "-";
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size >= 0.9995) return `${figures(seconds)} s`;
  if (size >= 0.9995e-3) return `${figures(seconds * 1e3)} ms`;
  return `${figures(seconds * 1e6)} µs`;
}

// A point in time, with as many digits as a picture of that width can show.
function instant(seconds, width) {
  const digits = Math.min(7, Math.max(0, 3 - Math.floor(Math.log10(width || 1))));
  return `${seconds.toFixed(digits)} s`;
}

function bytes(size) {
  if (size < 1000) return `${size} bytes`;
  return size < 1e6 ? `${figures(size / 1e3)} kB` : `${figures(size / 1e6)} MB`;
}

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const end = Math.floor((middle - 1) / 3);
    const short = `${text.slice(0, middle - end)}…${end ? text.slice(-end) : ""}`;
    if (pen.measureText(short).width <= width) low = middle;
    else high = middle - 1;
  }
  const end = Math.floor((low - 1) / 3);
  return low < 1 ? "" : `${text.slice(0, low - end)}…${end > 0 ? text.slice(-end) : ""}`;
}

function element(parent, name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}
