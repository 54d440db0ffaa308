// Pictures as SVG: nodes and links, commits per second, waits, and where the time of a commit goes.
"use strict";

const Draw = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  // Okabe and Ito: told apart by all eyes. Marks differ in shape as well.
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
  // A stage has one colour in all lessons.
  const STAGES = { execute: 5, "lock wait": 1, queue: 4, consistency: 3, "send window": 3, order: 0, certification: 6, flush: 2, acknowledgement: 3, "commit order": 4, commit: 6, retries: 1 };
  const WORDS = { kill: "killed", cut: "cut off", "power-loss": "loses power", promote: "promoted", restart: "starts again" };

  function make(name, traits = {}, ...inside) {
    const one = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(traits)) one.setAttribute(key, value);
    one.append(...inside);
    return one;
  }

  function text(x, y, words, traits = {}) {
    return make("text", { x, y, ...traits }, String(words));
  }

  // Round steps of an axis from 0 or from a power of ten.
  function steps(most, wanted) {
    const raw = most / wanted || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999);
    const found = [];
    for (let at = 0; at <= most * 1.0001; at += step) found.push(+at.toPrecision(10));
    return found;
  }

  function short(value) {
    if (value === 0) return "0";
    if (value >= 10000) return `${+(value / 1000).toPrecision(3)}k`;
    return String(+value.toPrecision(3));
  }

  function frame(width, height, name, left = 46) {
    const box = { left, right: width - 8, top: 22, bottom: height - 22, width, height };
    const picture = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name });
    picture.append(make("title", {}, name));
    return { picture, box };
  }

  function timeAxis(picture, box, end) {
    const x = (at) => box.left + (at / end) * (box.right - box.left);
    for (const at of steps(end, Math.max(3, Math.min(10, box.width / 80)))) {
      picture.append(
        make("line", { x1: x(at), x2: x(at), y1: box.bottom, y2: box.bottom + 4, class: "axis" }),
        text(x(at), box.bottom + 16, at === 0 ? "0 s" : short(at), { class: "tick", "text-anchor": "middle" }),
      );
    }
    picture.append(make("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "axis" }));
    return x;
  }

  function faultLines(picture, box, x, faults) {
    const level = [];
    for (const one of [...faults].sort((a, b) => a.at_s - b.at_s)) {
      const at = x(one.at_s);
      const row = level.findIndex((end) => end < at);
      const place = row < 0 ? level.length : row;
      const words = one.words ?? `${one.node} ${WORDS[one.what] || one.what}`;
      level[place] = at + words.length * 6.4 + 8;
      if (one.until_s) {
        picture.prepend(make("rect", { x: at, width: x(one.until_s) - at, y: box.top, height: box.bottom - box.top, class: "lasts" }));
      }
      const flip = at + words.length * 6.4 > box.right;
      picture.append(
        make("line", { x1: at, x2: at, y1: box.top - 4, y2: box.bottom, class: "fault" }),
        text(at + (flip ? -3 : 3), box.top + 6 + 12 * place, words, { class: "faultname", "text-anchor": flip ? "end" : "start" }),
      );
    }
  }

  // Commits per second of all clients; what lies behind the cursor is not shown yet.
  function rate(run, bin, width) {
    const { picture, box } = frame(width, 150, `Commits per second of ${run.title} over time`);
    const count = Math.max(1, Math.ceil(run.end_s / bin - 1e-9));
    const bins = new Array(count).fill(0), failed = new Array(count).fill(0);
    run.ended.forEach((at, place) => {
      const into = Math.min(count - 1, Math.floor(at / bin));
      if (run.error[place]) failed[into]++; else bins[into]++;
    });
    const marks = [...run.faults, ...run.marks.map(([at_s, words]) => ({ at_s, words }))];
    const most = Math.max(1 / bin, ...bins, ...failed) / bin * (marks.length ? 1.5 : 1.15); // names have room above
    const x = timeAxis(picture, box, run.end_s);
    const y = (value) => box.bottom - (value / most) * (box.bottom - box.top);
    for (const value of steps(most, 3)) {
      picture.append(
        make("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), class: "grid" }),
        text(box.left - 5, y(value) + 4, short(value), { class: "tick", "text-anchor": "end" }),
      );
    }
    const shown = make("g", { class: "shown" });
    bins.forEach((number, place) => {
      if (!number) return;
      const from = x(place * bin), to = x(Math.min(run.end_s, (place + 1) * bin));
      shown.append(make("rect", { x: from + 0.3, width: Math.max(0.4, to - from - 0.6), y: y(number / bin), height: box.bottom - y(number / bin), fill: COLOURS[0] }));
    });
    failed.forEach((number, place) => {
      if (!number) return;
      const at = x((place + 0.5) * bin), top = y(number / bin);
      shown.append(make("path", { d: `M${at - 3} ${top - 3}l6 6m0 -6l-6 6`, stroke: COLOURS[1], "stroke-width": 1.8, fill: "none" }));
    });
    picture.append(shown);
    faultLines(picture, box, x, marks);
    picture.append(text(4, 9, "commits/s", { class: "axisname" }));
    return { picture, box, x, shown };
  }

  const MARKS = [
    (x, y) => `M${x - 1.8} ${y}a1.8 1.8 0 1 0 3.6 0a1.8 1.8 0 1 0 -3.6 0`,
    (x, y) => `M${x - 2} ${y - 2}h4v4h-4z`,
    (x, y) => `M${x} ${y - 2.6}l2.6 4.6h-5.2z`,
  ];

  const colourOfNode = (node) => COLOURS[node === 1 ? 4 : node === 2 ? 2 : 0];
  const CROSS = (x, y) => `M${x - 2.5} ${y - 2.5}l5 5m0 -5l-5 5`;

  // What the marks of the plots mean.
  function key(run) {
    const own = [...new Set(run.node.filter((_, place) => !run.error[place]))].sort((a, b) => a - b).map((node) => [
      make("path", { d: MARKS[node % 3](5, 5), fill: colourOfNode(node), transform: "translate(-4 -4) scale(1.8)" }), `a commit on ${run.nodes[node]}`]);
    if (run.error.some(Boolean)) {
      own.push([make("path", { d: CROSS(5, 5), stroke: COLOURS[1], "stroke-width": 1.6, fill: "none" }), "attempts that failed"]);
    }
    const place = document.createElement("p");
    place.className = "key";
    for (const [mark, words] of own) {
      const entry = document.createElement("span");
      entry.append(make("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, mark), ` ${words}`);
      place.append(entry);
    }
    return place;
  }

  // How long each attempt took, when it ended.
  function waits(run, width) {
    const { picture, box } = frame(width, 150, `How long each commit of ${run.title} took`);
    const spent = run.ended.map((at, place) => Math.max(1e-4, at - run.began[place]));
    const low = 10 ** Math.floor(Math.log10(Math.min(1e-2, ...spent)));
    const high = 10 ** Math.ceil(Math.log10(Math.max(low * 10, ...spent)) - 1e-6);
    const x = timeAxis(picture, box, run.end_s);
    const y = (value) => box.bottom - (Math.log(value / low) / Math.log(high / low)) * (box.bottom - box.top);
    for (let value = low; value <= high * 1.001; value *= 10) {
      const label = value < 0.9 ? `${short(value * 1000)} ms` : `${short(value)} s`;
      picture.append(
        make("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), class: "grid" }),
        text(box.left - 4, y(value) + 4, label, { class: "tick", "text-anchor": "end" }),
      );
    }
    const shown = make("g", { class: "shown" });
    const paths = run.nodes.map(() => []), bad = [];
    run.ended.forEach((at, place) => {
      const node = run.node[place];
      if (run.error[place]) bad.push(CROSS(x(at), y(spent[place])));
      else paths[node].push(MARKS[node % 3](x(at), y(spent[place])));
    });
    paths.forEach((path, node) => shown.append(make("path", { d: path.join(""), fill: colourOfNode(node), "fill-opacity": 0.75 })));
    shown.append(make("path", { d: bad.join(""), stroke: COLOURS[1], "stroke-width": 1.4, fill: "none" }));
    picture.append(shown);
    faultLines(picture, box, x, [...run.faults, ...run.marks.map(([at_s]) => ({ at_s }))].map((one) => ({ ...one, words: "" })));
    picture.append(text(4, 9, "a commit took", { class: "axisname" }));
    return { picture, box, x, shown };
  }

  // Where the mean time of a commit goes.
  function stages(run, width) {
    const parts = Object.entries(run.stages).filter(([, ms]) => ms > 0);
    const total = parts.reduce((sum, [, ms]) => sum + ms, 0);
    const { picture, box } = frame(width, 62, `Where the time of a commit goes: ${parts.map(([name, ms]) => `${name} ${short(ms)} ms`).join(", ")}`, 8);
    let from = box.left;
    const colourOf = (name) => COLOURS[STAGES[name] ?? 6];
    for (const [name, ms] of parts) {
      const wide = (ms / total) * (box.right - box.left);
      const colour = colourOf(name);
      picture.append(make("rect", { x: from, width: Math.max(0.5, wide), y: 20, height: 22, fill: colour }));
      if (wide > 8 * name.length + 60) {
        picture.append(text(from + 5, 35, `${name} ${short(ms)} ms`, { class: "onbar" }));
      }
      from += wide;
    }
    picture.append(text(8, 12, `mean of a commit: ${short(total)} ms`, { class: "tick" }));
    const small = parts.filter(([name, ms]) => (ms / total) * (box.right - box.left) <= 8 * name.length + 60);
    let row = 0, right = 8; // SVG does not wrap: as many lines as they need
    for (const [name, ms] of small) {
      const words = `${name} ${short(ms)} ms`, wide = words.length * 6.3 + 26;
      if (right > 8 && right + wide > width) { row++; right = 8; }
      picture.append(
        make("rect", { x: right, y: 49 + 16 * row, width: 9, height: 9, fill: colourOf(name) }),
        text(right + 13, 57 + 16 * row, words, { class: "tick" }));
      right += wide;
    }
    picture.setAttribute("viewBox", `0 0 ${width} ${62 + 16 * row}`);
    picture.setAttribute("class", "stages-bar");
    return picture;
  }

  // The nodes of a cluster; `state` tells of each what it does now.
  function nodes(names, states, cuts, rtt_ms) {
    const places = names.length === 2 ? [[60, 55], [240, 55]] : [[150, 34], [55, 128], [245, 128]];
    const picture = make("svg", { viewBox: "0 0 300 172", role: "img", class: "nodes",
      "aria-label": names.map((name, place) => `${name}: ${states[place].words}`).join("; ") });
    for (let one = 0; one < names.length; one++) {
      for (let other = one + 1; other < names.length; other++) {
        const broken = cuts.has(one) || cuts.has(other) || states[one].kind === "down" || states[other].kind === "down";
        const [x1, y1] = places[one], [x2, y2] = places[other];
        picture.append(
          make("line", { x1, y1, x2, y2, class: broken ? "link broken" : "link" }),
          text((x1 + x2) / 2, (y1 + y2) / 2 + 4, `${short(rtt_ms[one][other])} ms`, { class: "distance", "text-anchor": "middle" }));
      }
    }
    names.forEach((name, place) => {
      const [x, y] = places[place], { kind, words } = states[place];
      const shape = kind === "down"
        ? make("rect", { x: x - 20, y: y - 20, width: 40, height: 40, class: `node ${kind}` })
        : make("circle", { cx: x, cy: y, r: 22, class: `node ${kind}` });
      picture.append(shape);
      if (kind === "down") picture.append(make("path", { d: `M${x - 16} ${y - 16}l32 32m0 -32l-32 32`, class: "cross" }));
      picture.append(text(x, y + 5, name, { class: `nodename ${kind}`, "text-anchor": "middle" })); // legible over the cross
      const top = names.length > 2 && place === 0; // beside it: links begin below
      picture.append(top
        ? text(x + 28, y + 5, words, { class: "state" })
        : text(x, y + 37, words, { class: "state", "text-anchor": "middle" }));
    });
    return picture;
  }

  return { rate, waits, key, stages, nodes, short, COLOURS };
})();
