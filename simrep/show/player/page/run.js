// A document of simrep.show.player, unpacked into columns that can be searched: docs/reference/player.md.

const HOLE = "\u0001";
const BLOCK = 128; // neighbours whose latest end is known together

function sums(differences) {
  const values = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < differences.length; i++) values[i] = sum += differences[i];
  return values;
}

// The first position whose value is above a bound, of values in ascending order.
function above(values, bound) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Things that last, in the order of their begin: which of them are there between two times?
class Spells {
  constructor(began, ended) {
    this.began = began;
    this.ended = ended;
    this.latest = new Float64Array(Math.ceil(began.length / BLOCK)).fill(-Infinity);
    for (let i = 0; i < ended.length; i++) {
      const block = (i / BLOCK) | 0;
      if (ended[i] > this.latest[block]) this.latest[block] = ended[i];
    }
  }

  each(from, to, visit) {
    const end = above(this.began, to);
    for (let block = 0; block * BLOCK < end; block++) {
      if (this.latest[block] < from) continue;
      const last = Math.min(end, (block + 1) * BLOCK);
      for (let i = block * BLOCK; i < last; i++) if (this.ended[i] >= from) visit(i);
    }
  }

  count(from, to) {
    return Math.max(0, above(this.began, to) - above(this.began, from));
  }
}

class Texts {
  constructor(patterns) {
    this.patterns = patterns.map((pattern) => pattern.split(HOLE));
  }

  // Where the numbers of each text of a column begin among all its numbers.
  offsets(column) {
    const offsets = new Uint32Array(column.length);
    let sum = 0;
    for (let i = 0; i < column.length; i++) {
      offsets[i] = sum;
      sum += this.patterns[column[i]].length - 1;
    }
    return offsets;
  }

  text(pattern, numbers, offset) {
    const parts = this.patterns[pattern];
    let text = parts[0];
    for (let i = 1; i < parts.length; i++) text += numbers[offset + i - 1] + parts[i];
    return text;
  }
}

class Run {
  constructor(content) {
    if (content.format !== "simrep-player" || content.version !== 2) {
      throw new Error(`no document of a run that this player knows: ${content.format} ${content.version}`);
    }
    this.content = content;
    this.tick = content.tick_s;
    this.title = content.title;
    this.model = content.model;
    this.nodes = content.nodes;
    this.length = content.length * this.tick;
    this.measuredFrom = content.measured_from * this.tick;
    this.window = content.window.map((one) => one * this.tick);
    this.look = content.look && content.look.map((one) => one * this.tick);
    this.chosen = content.chosen;
    this.texts = new Texts(content.texts);
    this.messages = this.unpackMessages(content.messages);
    this.transactions = this.unpackTransactions(content.transactions);
    this.refusals = this.unpackRefusals(content.refusals);
    this.groups = this.unpackGroups(content.transactions, content.steps);
    const seconds = (one) => ({ ...one, at: one.at * this.tick });
    this.notes = content.notes.map(seconds);
    const lasting = (one) => ({ ...seconds(one), until: one.until < 0 ? NaN : one.until * this.tick });
    this.events = content.events.map(lasting);
    this.bands = content.bands.map(lasting);
    this.leader = content.leader;
    this.writers = content.writers.map(lasting);
    this.quiet = content.quiet.map(([from, to]) => ({ at: from * this.tick, until: to * this.tick }));
    this.rates = { ...content.rates, width: content.rates.width * this.tick };
  }

  unpackMessages(packed) {
    const count = packed.sent.length, size = this.nodes.length, tick = this.tick;
    const sent = sums(packed.sent).map((one) => one * tick);
    const arrived = new Float64Array(count), handled = new Float64Array(count);
    const source = new Uint16Array(count), target = new Uint16Array(count), kind = new Uint16Array(count);
    const cause = new Int32Array(count), first = new Uint32Array(count + 1);
    const ways = new Map();
    for (let i = 0; i < count; i++) {
      const took = packed.took[i];
      arrived[i] = took < 0 ? NaN : sent[i] + took * tick;
      handled[i] = packed.handled[i] < 0 ? NaN : arrived[i] + packed.handled[i] * tick;
      source[i] = (packed.pair[i] / size) | 0;
      target[i] = packed.pair[i] % size;
      kind[i] = packed.kind_of_label[packed.label[i]];
      cause[i] = packed.cause[i] ? i - packed.cause[i] : -1;
      first[i + 1] = first[i] + packed.about_count[i];
      if (took >= 0 && !ways.has(packed.pair[i])) ways.set(packed.pair[i], took * tick);
    }
    // What never arrives is drawn as far as it would have come in that time.
    const gone = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      gone[i] = arrived[i] >= 0 ? arrived[i] : sent[i] + 0.6 * (ways.get(packed.pair[i]) || 1e-3);
    }
    const about = sums(packed.about);
    const carries = new Uint8Array(packed.kinds.length);
    for (let i = 0; i < count; i++) if (first[i + 1] > first[i]) carries[kind[i]] = 1;
    return {
      count, sent, arrived, handled, source, target, kind, cause, gone, carries,
      size: packed.size, labels: packed.labels, label: packed.label,
      kinds: packed.kinds, membership: packed.membership,
      spells: new Spells(sent, gone), ends: Float64Array.from(gone).sort(),
      about: (i) => about.subarray(first[i], first[i + 1]),
    };
  }

  unpackTransactions(packed) {
    const count = packed.started.length, tick = this.tick;
    const started = sums(packed.started).map((one) => one * tick);
    const ended = started.map((one, i) => one + packed.took[i] * tick);
    const number = sums(packed.number), critical = sums(packed.critical);
    const stageFirst = new Uint32Array(count + 1), criticalFirst = new Uint32Array(count + 1);
    for (let i = 0; i < count; i++) {
      stageFirst[i + 1] = stageFirst[i] + packed.stage_count[i];
      criticalFirst[i + 1] = criticalFirst[i] + packed.critical_count[i];
    }
    const unknown = new Set(packed.unknown);
    const offsets = this.texts.offsets(packed.reason);
    const text = (place) => this.texts.text(packed.reason[place], packed.numbers, offsets[place]);
    const whole = (pattern) => this.texts.text(pattern, [], 0);
    return {
      count, started, ended, number, packed,
      failed: (i) => packed.error[i] >= 0,
      error: (i) => (packed.error[i] < 0 ? "" : whole(packed.error[i])),
      unknown: (i) => unknown.has(i),
      commits: packed.error.reduce((sum, one) => sum + (one < 0), 0),
      node: packed.node, kindName: (i) => whole(packed.kind[i]),
      critical: (i) => critical.subarray(criticalFirst[i], criticalFirst[i + 1]),
      stageFirst,
      stages: (i) => {
        const found = [];
        let at = started[i];
        for (let s = stageFirst[i]; s < stageFirst[i + 1]; s++) {
          const until = at + packed.stage_took[s] * tick;
          found.push({ name: whole(packed.stage[s]), began: at, ended: until, reason: text(s) });
          at = until;
        }
        return found;
      },
    };
  }

  // Attempts to connect that failed.
  unpackRefusals(packed) {
    const began = sums(packed.began);
    return packed.node.map((node, i) => ({
      node, error: this.texts.text(packed.error[i], [], 0), group: this.texts.text(packed.group[i], [], 0),
      began: began[i] * this.tick, ended: (began[i] + Math.max(0, packed.took[i])) * this.tick,
    }));
  }

  // What is drawn as one bar of several parts: a transaction on its own node with its stages, and on
  // every other node all that is done there for it.
  unpackGroups(told, steps) {
    const tick = this.tick, groups = [];
    for (let i = 0; i < told.started.length; i++) {
      groups.push({ node: told.node[i], of: i, began: this.transactions.started[i],
                    ended: this.transactions.ended[i], parts: null, told: true, error: this.transactions.error(i) });
    }
    for (const one of this.refusals) {
      const whose = one.group ? `a client of ${one.group}` : "a client";
      groups.push({ node: one.node, of: -1, began: one.began, ended: one.ended, error: one.error, refusal: one,
                    parts: [{ began: one.began, ended: one.ended, stage: "client", station: "connection", reason: "", whose, waits: false }] });
    }
    const of = sums(steps.of), began = sums(steps.began), open = new Map();
    const offsets = this.texts.offsets(steps.what);
    const size = this.nodes.length;
    for (let i = 0; i < began.length; i++) {
      const from = began[i] * tick, to = from + Math.max(0, steps.took[i]) * tick;
      const part = { began: from, ended: to, step: i };
      const key = of[i] < 0 ? -1 : of[i] * size + steps.node[i];
      let group = key < 0 ? undefined : open.get(key);
      if (group === undefined) {
        group = { node: steps.node[i], of: of[i], began: from, ended: to, parts: [], error: "" };
        groups.push(group);
        if (key >= 0) open.set(key, group);
      }
      group.ended = Math.max(group.ended, to);
      group.parts.push(part);
    }
    groups.sort((a, b) => a.began - b.began);
    this.step = (i) => ({
      station: this.texts.text(steps.station[i], [], 0),
      what: this.texts.text(steps.what[i], steps.numbers, offsets[i]),
      whose: this.texts.text(steps.whose[i], [], 0),
      waits: Boolean(steps.waits[i]),
    });
    const lanes = this.nodes.map(() => []);
    for (const group of groups) {
      const ends = lanes[group.node];
      let lane = 0;
      while (lane < ends.length && ends[lane] > group.began) lane++;
      ends[lane] = group.ended;
      group.lane = lane;
    }
    const column = (name) => Float64Array.from(groups, (one) => one[name]);
    return { all: groups, lanes: lanes.map((one) => one.length),
             spells: new Spells(column("began"), column("ended")) };
  }

  partsOf(group) {
    if (group.parts === null) {
      group.parts = this.transactions.stages(group.of).map((one) =>
        ({ began: one.began, ended: one.ended, stage: one.name, reason: one.reason, waits: false }));
    } else if (group.parts.length && group.parts[0].stage === undefined) {
      group.parts = group.parts.map((part) => {
        const step = this.step(part.step);
        return { ...part, stage: stageOf(step.station), reason: step.what, station: step.station,
                 whose: step.whose, waits: step.waits };
      });
    }
    return group.parts;
  }

  titleOf(transaction) {
    const told = this.transactions, number = told.number[transaction];
    if (told.failed(transaction)) return `failed attempt (${told.kindName(transaction)}) on ${this.nodes[told.node[transaction]]}`;
    const which = number > 0 ? `transaction ${number.toLocaleString("en")}` : "a transaction of the warm-up";
    return `${which} (${told.kindName(transaction)}) of ${this.nodes[told.node[transaction]]}`;
  }
}

// What is left of an error in little room: its number, else its first words.
function codeOf(error) {
  const number = /^\d+/.exec(error);
  return number ? number[0] : fewWords(error);
}

function fewWords(error) {
  const words = error.split(" ");
  return words.length > 3 ? `${words.slice(0, 2).join(" ")}…` : error;
}

const STATIONS = [
  ["row", "lock wait"], ["send", "send window"], ["certif", "certification"],
  ["commit order", "commit order"], ["commit", "commit"], ["log", "flush"],
  ["acknowledgement", "acknowledgement"], ["order", "order"], ["appl", "execute"],
];

// The stage that is most like what happens at a station: it gives the colour.
function stageOf(station) {
  const words = station.toLowerCase();
  const found = STATIONS.find(([word]) => words.includes(word));
  return found ? found[1] : "client";
}
