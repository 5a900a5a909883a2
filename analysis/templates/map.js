// The map: plays a run from waypoints and intervals (analysis/playback.py). Times in 0.01 s, places in 0.1 m.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const $ = (id) => document.getElementById(id);
  const canvas = $("map"), strip = $("strip"), slider = $("time"), clock = $("clock"), play = $("play");
  const hosts = data.ways.length;
  // told apart by most people, on light and dark paper: after Okabe and Ito
  const COLORS = ["#2f7fc1", "#e08214", "#1b9e77", "#c85a9a", "#b8860b", "#7b68c8", "#d1495b", "#4aa3a2"];
  let now = 0, playing = false, last = null, ink = {};
  const usual = new Map();  // leader -> the color its fragment wears unless a larger one wears it
  for (let k = 2; k < data.leaders.length; k += 4)
    if (!usual.has(data.leaders[k])) usual.set(data.leaders[k], usual.size % COLORS.length);

  const readInk = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "faint", "blob", "radio", "host-edge", "alone", "warm", "bound", "rule"])
      ink[name] = style.getPropertyValue("--" + name).trim();
  };

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

  function fit(element, ratio) {
    const scale = window.devicePixelRatio || 1, width = element.clientWidth;
    const height = ratio ? Math.min(Math.round(width * ratio), Math.round(Math.max(320, window.innerHeight * 0.8))) : element.clientHeight;
    if (ratio) element.style.height = height + "px";
    if (element.width !== Math.round(width * scale) || element.height !== Math.round(height * scale)) {
      element.width = Math.round(width * scale);
      element.height = Math.round(height * scale);
    }
    const pen = element.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    return { pen, width, height };
  }

  function draw() {
    const [left, bottom, right, top] = data.box;
    const { pen, width, height } = fit(canvas, Math.max(0.45, Math.min(1, (top - bottom) / (right - left))));
    const margin = 22, foot = 22;  // below the area there is room for the scale
    const zoom = Math.min((width - 2 * margin) / (right - left), (height - 2 * margin - foot) / (top - bottom));
    const x0 = (width - zoom * (right - left)) / 2, y0 = (height - foot - zoom * (top - bottom)) / 2;
    const t = now;
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
    $("count-fragments").textContent = new Set(living.map((h) => fragment[h])).size;
    clock.textContent = (t / 100).toFixed(1) + " s";
    slider.value = Math.round(t);
    slider.setAttribute("aria-valuetext", clock.textContent);
    drawStrip();
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

  function drawStrip() {
    const { pen, width, height } = fit(strip);
    const [partitions, fragments] = data.shape, n = partitions.length;
    const most = Math.max(2, ...fragments, ...partitions);
    const curve = (values, paint, thick) => {
      pen.beginPath(); pen.strokeStyle = paint; pen.lineWidth = thick;
      values.forEach((v, k) => {
        const y = height - 4 - (height - 8) * v / most;
        pen.lineTo(width * k / n, y); pen.lineTo(width * (k + 1) / n, y);
      });
      pen.stroke();
    };
    curve(fragments, ink.warm, 1.3);
    curve(partitions, ink.bound, 1.6);
    pen.fillStyle = ink.ink;
    pen.fillRect(width * now / data.end - 0.75, 0, 1.5, height);
  }

  function step(stamp) {
    if (!playing) return;
    if (last !== null) now += Math.min(0.25, (stamp - last) / 1000) * 100 * Number($("speed").value);
    last = stamp;
    if (now >= data.end) { now = data.end - 1; setPlaying(false); }
    draw();
    if (playing) requestAnimationFrame(step);
  }

  function setPlaying(on) {
    if (on && now >= data.end - 1) now = 0;
    playing = on; last = null;
    play.textContent = on ? "Pause" : "Play";
    if (on) requestAnimationFrame(step);
  }

  play.addEventListener("click", () => setPlaying(!playing));
  slider.addEventListener("input", () => { now = Number(slider.value); draw(); });
  strip.addEventListener("click", (e) => { now = data.end * e.offsetX / strip.clientWidth; draw(); });
  for (const id of ["show-names", "show-radio", "show-parts"]) $(id).addEventListener("change", draw);
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readInk(); draw(); });
  slider.max = Math.max(data.end - 1, 0);
  now = Math.min(data.end - 1, Math.round(data.end / 2));
  readInk();
  draw();
})();
