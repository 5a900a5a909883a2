// The map: plays a run from waypoints and intervals (analysis/playback.py) and the travels of events (analysis/journeys.py).
// Times in 0.01 s, those of events in 0.0001 s; places in 0.1 m.
"use strict";
(() => {
  const { data, $, ink, fit } = run, canvas = $("map");
  if (!canvas) return;
  const hosts = data.ways.length;
  // told apart by most people, on light and dark paper: after Okabe and Ito
  const COLORS = ["#2f7fc1", "#e08214", "#1b9e77", "#c85a9a", "#b8860b", "#7b68c8", "#d1495b", "#4aa3a2"];
  const usual = new Map();  // leader -> the color its fragment wears unless a larger one wears it
  for (let k = 2; k < data.leaders.length; k += 4)
    if (!usual.has(data.leaders[k])) usual.set(data.leaders[k], usual.size % COLORS.length);

  function place(host, t) {
    const way = data.ways[host], spans = data.present[host];
    if (spans && !spans.some(([from, until]) => from <= t && t < until)) return null;
    let low = 0, high = way.length / 3 - 1;  // the last waypoint not after t
    if (t <= way[0]) return [way[1], way[2]];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (way[3 * middle] <= t) low = middle; else high = middle - 1;
    }
    const at = 3 * low;
    if (at + 3 >= way.length) return [way[at + 1], way[at + 2]];
    const part = (t - way[at]) / (way[at + 3] - way[at]);
    return [way[at + 1] + part * (way[at + 4] - way[at + 1]), way[at + 2] + part * (way[at + 5] - way[at + 2])];
  }

  // flat rows of four: i, j, up, down, in the order of up
  function links(rows, t) {
    const found = [];
    for (let k = 0; k < rows.length && rows[k + 2] <= t; k += 4) if (rows[k + 3] > t) found.push([rows[k], rows[k + 1]]);
    return found;
  }

  function groups(edges) {
    const root = Array.from({ length: hosts }, (_, i) => i);
    const find = (x) => { while (root[x] !== x) x = root[x] = root[root[x]]; return x; };
    for (const [i, j] of edges) root[find(i)] = find(j);
    return root.map((_, i) => find(i));
  }

  function standings(t) {
    const leader = new Array(hosts).fill(-1), seeking = new Array(hosts).fill(0);
    for (let k = 0; k < data.leaders.length && data.leaders[k + 1] <= t; k += 4) {
      leader[data.leaders[k]] = data.leaders[k + 2];
      seeking[data.leaders[k]] = data.leaders[k + 3];
    }
    return { leader, seeking };
  }

  function alive(t) {
    const up = new Array(hosts).fill(false);
    for (let k = 0; k < data.lives.length && data.lives[k + 1] <= t; k += 3) if (data.lives[k + 2] > t) up[data.lives[k]] = true;
    return up;
  }

  // who leads a fragment: the leader most of its members name; else the lowest id stands for it
  function colors(fragment, leader) {
    const members = new Map();
    fragment.forEach((f, host) => members.has(f) ? members.get(f).push(host) : members.set(f, [host]));
    const color = new Map(), taken = new Set();
    const large = [...members].filter(([, who]) => who.length > 1).sort((a, b) => b[1].length - a[1].length);
    const chosen = large.map(([f, who]) => {
      const votes = new Map();
      for (const host of who) if (leader[host] >= 0) votes.set(leader[host], (votes.get(leader[host]) || 0) + 1);
      return [f, votes.size ? [...votes].sort((a, b) => b[1] - a[1])[0][0] : who[0]];
    });
    for (const [f, name] of chosen) {
      let k = usual.get(name) ?? name % COLORS.length;
      if (taken.has(k)) k = [...COLORS.keys()].find((c) => !taken.has(c)) ?? k;
      taken.add(k);
      color.set(f, COLORS[k]);
    }
    return color;
  }

  function draw() {
    const [left, bottom, right, top] = data.box;
    const { pen, width, height } = fit(canvas, Math.max(0.45, Math.min(1, (top - bottom) / (right - left))));
    const margin = 22, foot = 22;  // below the area there is room for the scale
    const zoom = Math.min((width - 2 * margin) / (right - left), (height - 2 * margin - foot) / (top - bottom));
    const x0 = (width - zoom * (right - left)) / 2, y0 = (height - foot - zoom * (top - bottom)) / 2;
    const t = run.now;
    const up = alive(t);
    const at = data.ways.map((_, h) => { const p = place(h, t); return p && [x0 + zoom * (p[0] - left), height - foot - y0 - zoom * (p[1] - bottom)]; });
    const seen = ([i, j]) => at[i] && at[j];
    const radio = links(data.radio, t).filter(seen), tree = links(data.tree, t).filter(seen);
    const partition = groups(radio), fragment = groups(tree), { leader, seeking } = standings(t);
    const color = colors(fragment, leader);
    const line = (edges) => { pen.beginPath(); for (const [i, j] of edges) { pen.moveTo(...at[i]); pen.lineTo(...at[j]); } pen.stroke(); };
    pen.lineCap = pen.lineJoin = "round";
    pen.strokeStyle = ink.rule; pen.lineWidth = 1;
    pen.strokeRect(x0, y0, zoom * (right - left), zoom * (top - bottom));
    if ($("show-parts").checked) {
      const parts = new Map();
      radio.forEach((edge) => { const p = partition[edge[0]]; parts.has(p) ? parts.get(p).push(edge) : parts.set(p, [edge]); });
      pen.strokeStyle = ink.blob; pen.lineWidth = 34;
      for (const edges of parts.values()) line(edges);
    }
    if ($("show-radio").checked) { pen.strokeStyle = ink.radio; pen.lineWidth = 1; line(radio); }
    pen.lineWidth = 3.5;
    for (const [f, paint] of color) { pen.strokeStyle = paint; line(tree.filter(([i]) => fragment[i] === f)); }
    drawWay(pen, at);
    if ($("show-events").checked) drawEvents(pen, at);
    drawScale(pen, zoom * 10, Math.max(margin, x0), height - 12, width - 2 * Math.max(margin, x0));
    const size = Math.max(4, Math.min(8, 60 / Math.sqrt(hosts)));
    pen.font = "600 11px system-ui, sans-serif"; pen.textAlign = "center";
    at.forEach((p, h) => {
      if (!p) return;
      const leads = up[h] && leader[h] === h && color.has(fragment[h]);
      pen.beginPath(); pen.arc(...p, leads ? size + 2 : size, 0, 2 * Math.PI);
      if (!up[h]) { pen.strokeStyle = ink.alone; pen.lineWidth = 1; pen.setLineDash([2, 2]); pen.stroke(); pen.setLineDash([]); }
      else {
        pen.fillStyle = color.get(fragment[h]) || ink.alone; pen.fill();
        pen.strokeStyle = ink["host-edge"]; pen.lineWidth = 1.5; pen.stroke();
      }
      if (leads) { pen.beginPath(); pen.arc(...p, size + 6, 0, 2 * Math.PI); pen.strokeStyle = ink.ink; pen.lineWidth = 2; pen.stroke(); }
      if (up[h] && seeking[h]) { pen.beginPath(); pen.arc(...p, size + 4, 0, 2 * Math.PI); pen.strokeStyle = ink.warm; pen.lineWidth = 2; pen.setLineDash([3, 3]); pen.stroke(); pen.setLineDash([]); }
      if ($("show-names").checked) {
        const name = data.names[h] ?? h, half = pen.measureText(name).width / 2 + 3;  // whole, at the map's edges too
        const x = Math.max(half, Math.min(width - half, p[0])), y = Math.max(12, p[1] - size - 8);
        pen.lineWidth = 3; pen.strokeStyle = ink["host-edge"]; pen.strokeText(name, x, y);
        pen.fillStyle = ink.ink; pen.fillText(name, x, y);
      }
    });
    const living = [...up.keys()].filter((h) => up[h] && at[h]);
    $("count-hosts").textContent = living.length;
    $("count-partitions").textContent = data.radio.length ? new Set(living.map((h) => partition[h])).size : "–";
    if (!data.treeless) $("count-fragments").textContent = new Set(living.map((h) => fragment[h])).size;
  }

  // bars of a round length and of the radio range; `meter` is in pixels, and so is the room to the right of x
  function drawScale(pen, meter, x, y, room) {
    const power = 10 ** Math.floor(Math.log10(room / 4 / meter));
    const round = [5, 2, 1].map((k) => k * power).find((m) => m * meter <= room / 4);
    pen.font = "11px system-ui, sans-serif"; pen.textAlign = "left"; pen.textBaseline = "middle";
    pen.strokeStyle = pen.fillStyle = ink.faint; pen.lineWidth = 1.5;
    const bar = (length, text) => {
      pen.beginPath();
      for (const end of [x, x + length]) { pen.moveTo(end, y - 4); pen.lineTo(end, y + 4); }
      pen.moveTo(x, y); pen.lineTo(x + length, y); pen.stroke();
      pen.fillText(text, x + length + 6, y);
      x += length + 6 + pen.measureText(text).width + 26;
    };
    const start = x;
    bar(round * meter, `${round} m`);
    if (typeof data.range === "number") {
      const text = `radio range ${data.range} m`, length = data.range * meter;
      if (x - start + length + 6 + pen.measureText(text).width <= room) bar(length, text); else pen.fillText(text, x, y);
    }
    pen.textBaseline = "alphabetic";
  }

  // every move of an event, in the order of departure: from, until (0.01 s), near, far, arrived, event; near = far: handed over
  // there, or published
  const moves = [];
  data.events.forEach(([t, source, , hops, came], event) => {
    const add = (from, until, near, far, arrived) => moves.push({ from: from / 100, until: until / 100, near, far, arrived, event });
    add(t, t, source, source, false);
    for (let k = 0; k < hops.length; k += 4) {
      const arrived = hops[k + 3] >= 0;
      add(t + hops[k], t + (arrived ? hops[k + 3] : hops[k]), hops[k + 1], hops[k + 2], arrived);
    }
    for (let k = 0; k < came.length; k += 2) add(t + came[k], t + came[k], came[k + 1], came[k + 1], true);
  });
  moves.sort((a, b) => a.from - b.from);

  // what moves now, and for a moment what has moved; of a chosen loss its event stands out
  function drawEvents(pen, at) {
    const t = run.now, glow = Math.min(60 * run.speed, 100), chosen = run.loss ? run.loss[1] : null;
    for (const move of moves) {
      if (move.from > t) break;
      const since = t - Math.max(move.until, move.from), near = at[move.near], far = at[move.far];
      const mine = move.event === chosen;
      if (since > (mine ? Math.max(glow, 20) : glow) || !near || !far) continue;
      const fade = since < 0 ? 1 : 1 - since / (mine ? Math.max(glow, 20) : glow);
      pen.globalAlpha = mine ? Math.max(fade, 0.35) : chosen === null ? fade : 0.15 * fade;
      if (move.near === move.far) drawRing(pen, near, move.arrived, fade);
      else drawHop(pen, near, far, move, t, mine);
    }
    pen.globalAlpha = 1;
  }

  function drawRing(pen, [x, y], delivered, fade) {
    pen.beginPath(); pen.arc(x, y, 10 + 9 * (1 - fade), 0, 2 * Math.PI);
    pen.strokeStyle = delivered ? ink.good : ink.ink; pen.lineWidth = delivered ? 3.5 : 2.5; pen.stroke();
  }

  function drawHop(pen, near, far, move, t, mine) {
    const part = !move.arrived ? 0.35 : move.until > move.from ? Math.min(1, (t - move.from) / (move.until - move.from)) : 1;
    const [x, y] = [near[0] + part * (far[0] - near[0]), near[1] + part * (far[1] - near[1])];
    pen.strokeStyle = pen.fillStyle = ink.ink; pen.lineWidth = mine ? 3 : 2;
    if (!move.arrived) pen.setLineDash([3, 4]);
    pen.beginPath(); pen.moveTo(...near); pen.lineTo(x, y); pen.stroke(); pen.setLineDash([]);
    pen.beginPath(); pen.arc(x, y, mine ? 6 : 4.5, 0, 2 * Math.PI); pen.fill();
    pen.strokeStyle = ink["host-edge"]; pen.lineWidth = 1.5; pen.stroke();
  }

  // of a chosen loss: its way through the tree, the hop where it ended, publisher and subscriber
  function drawWay(pen, at) {
    if (!run.loss) return;
    const [, event, node, , , , near, far, path] = run.loss, source = data.events[event][1];
    const halo = (color, width, dash, points) => {
      if (points.length < 2 || points.some((p) => !p)) return;
      pen.setLineDash([]); pen.strokeStyle = ink["host-edge"]; pen.lineWidth = width + 5; trace(pen, points);
      pen.setLineDash(dash); pen.strokeStyle = color; pen.lineWidth = width; trace(pen, points);
      pen.setLineDash([]);
    };
    if (path) {
      const stop = near < 0 ? path.length - 1 : path.indexOf(near);
      halo(ink.ink, 4, [], path.slice(0, stop + 1).map((h) => at[h]));
      halo(ink.bad, 2, [2, 6], path.slice(stop + 1).map((h) => at[h]));
    } else halo(ink.bad, 2, [2, 7], [at[source], at[node]]);
    if (near >= 0 && at[near] && at[far]) {
      halo(ink.bad, 4, [8, 6], [at[near], at[far]]);
      const [x, y] = [(at[near][0] + at[far][0]) / 2, (at[near][1] + at[far][1]) / 2];
      pen.strokeStyle = ink["host-edge"]; pen.lineWidth = 8; cross(pen, x, y, 8);
      pen.strokeStyle = ink.bad; pen.lineWidth = 4; cross(pen, x, y, 8);
    }
    for (const [host, color, dash] of [[source, ink.ink, []], [node, ink.bad, [5, 4]]]) {
      if (!at[host]) continue;
      pen.beginPath(); pen.arc(...at[host], 17, 0, 2 * Math.PI);
      pen.strokeStyle = color; pen.lineWidth = 3; pen.setLineDash(dash); pen.stroke(); pen.setLineDash([]);
    }
  }

  function trace(pen, points) {
    pen.beginPath();
    points.forEach((p, k) => k ? pen.lineTo(...p) : pen.moveTo(...p));
    pen.stroke();
  }

  function cross(pen, x, y, r) {
    pen.beginPath(); pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x - r, y + r); pen.lineTo(x + r, y - r); pen.stroke();
  }

  for (const id of ["show-names", "show-radio", "show-parts", "show-events"]) $(id).addEventListener("change", run.draw);
  run.drawn.push(draw);
})();
