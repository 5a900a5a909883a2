// The time line: the shape of the network, and a lane of marks for each reason of losses. A chosen loss is `run.loss`, a row of
// `losses` (analysis/journeys.py): the map jumps to its publication, and the card says what became of it.
"use strict";
(() => {
  const { data, $, ink, fit } = run, lanes = $("lanes"), card = $("loss"), strip = $("strip");
  const name = (host) => data.names[host] ?? String(host);
  const seconds = (ticks) => (ticks / 1e4).toFixed(3) + " s";
  const tiny = (ticks) => ticks >= 1e4 ? (ticks / 1e4).toFixed(2) + " s" : (ticks / 10).toFixed(1) + " ms";
  const many = (n) => n.toLocaleString("en");
  const byReason = data.reasons.map((_, reason) => data.losses.filter((loss) => loss[4] === reason));
  run.loss = null;
  let usual = null;  // the speed before an event was played slowly

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  const place = (t, width) => width * t / data.end;  // t in 0.01 s

  function cursor(pen, width, height) {
    pen.fillStyle = ink.ink;
    pen.fillRect(place(run.now, width) - 0.75, 0, 1.5, height);
  }

  function drawStrip() {
    if (!strip) return;
    const { pen, width, height } = fit(strip), { fragments = [], partitions = [] } = data.shape, n = Math.max(fragments.length, partitions.length);
    const all = Math.max(...fragments, ...partitions), most = Math.max(2, data.ceiling ?? all);
    const curve = (values, paint, thick) => {
      pen.beginPath(); pen.strokeStyle = paint; pen.lineWidth = thick;
      values.forEach((v, k) => {
        const y = height - 4 - (height - 8) * Math.min(v, 1.2 * most) / most;  // over the edge where it is cut off
        pen.lineTo(width * k / n, y); pen.lineTo(width * (k + 1) / n, y);
      });
      pen.stroke();
    };
    curve(fragments, ink.warm, 1.3);
    curve(partitions, ink.bound, 1.6);
    if (data.ceiling !== null) {
      pen.font = "11px system-ui, sans-serif"; pen.fillStyle = ink.faint; pen.textAlign = "left";
      pen.lineWidth = 4; pen.strokeStyle = ink["host-edge"];
      pen.strokeText(`cut off above: up to ${all}`, 8, 11);
      pen.fillText(`cut off above: up to ${all}`, 8, 11);
    }
    cursor(pen, width, height);
  }

  function drawLane(canvas, losses, color) {
    const { pen, width, height } = fit(canvas);
    pen.fillStyle = ink.blob;
    const [from, until] = data.window.map((t) => place(t, width));
    pen.fillRect(from, 0, until - from, height);
    pen.globalAlpha = Math.max(0.15, Math.min(0.85, 0.5 * width / losses.length));  // many at one place are darker
    pen.fillStyle = color;
    for (const loss of losses) pen.fillRect(place(loss[0] / 100, width) - 1, 2, 2, height - 4);
    pen.globalAlpha = 1;
    cursor(pen, width, height);
    if (run.loss && losses.includes(run.loss)) {
      const x = place(run.loss[0] / 100, width);
      pen.fillStyle = ink.bad;
      pen.fillRect(x - 1.5, 0, 3, height);
      pen.beginPath(); pen.moveTo(x - 6, 0); pen.lineTo(x + 6, 0); pen.lineTo(x, 8); pen.fill();
    }
  }

  function makeLane(reason) {
    const [title, , total] = data.reasons[reason], losses = byReason[reason];
    const row = element("div", undefined, "lane"), canvas = element("canvas");
    const label = element("div", undefined, "lane-name");
    label.append(element("span", title), element("b", many(total)));
    canvas.tabIndex = losses.length ? 0 : -1;
    canvas.setAttribute("role", "slider");
    canvas.setAttribute("aria-label", `Losses, ${title}: arrow keys go from one to the next`);
    canvas.setAttribute("aria-valuemin", 0);
    canvas.setAttribute("aria-valuemax", losses.length);
    canvas.addEventListener("click", (e) => {
      const at = (loss) => Math.abs(place(loss[0] / 100, canvas.clientWidth) - e.offsetX);
      const near = losses.reduce((best, loss) => best && at(best) <= at(loss) ? best : loss, null);
      if (near && at(near) <= 10) choose(near); else run.go(data.end * e.offsetX / canvas.clientWidth);
    });
    canvas.addEventListener("keydown", (e) => {
      const to = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[e.key];
      if (to === undefined || !losses.length) return;
      e.preventDefault();
      pass(losses, to);
    });
    row.append(label, canvas);
    lanes.append(row);
    run.drawn.push(() => {
      drawLane(canvas, losses, ink[title === "partitioned" ? "bound" : "warm"]);
      const at = losses.indexOf(run.loss);
      canvas.setAttribute("aria-valuenow", at + 1);
      canvas.setAttribute("aria-valuetext", at < 0 ? "none chosen" : `${at + 1} of ${losses.length}, at ${seconds(run.loss[0])}`);
    });
  }

  // the next loss, or the one before; from the chosen one, or from the moment that is shown
  function pass(losses, by) {
    if (!losses.length) return;
    let at = losses.indexOf(run.loss);
    if (Math.abs(by) === Infinity) at = by < 0 ? 0 : losses.length - 1;
    else if (at >= 0) at = (at + by + losses.length) % losses.length;
    else {
      const after = losses.findIndex((loss) => loss[0] / 100 > run.now);
      at = by > 0 ? Math.max(after, 0) : (after < 0 ? losses.length : after) - 1;
    }
    choose(losses[(at + losses.length) % losses.length]);
  }

  function choose(loss) {
    run.setPlaying(false);
    run.loss = loss;
    tell();
    if (loss) run.go(loss[0] / 100); else run.draw();
  }

  function tell() {
    const loss = run.loss;
    card.classList.toggle("chosen", Boolean(loss));
    card.replaceChildren(...(loss ? told(loss) : [element("p", data.losses.length
      ? "Choose a mark on the time line to see the way of what was lost, and where it ended." : "No event was lost.", "hint")]));
  }

  function told(loss) {
    const [t, event, node, client, reason, detail, , , , late] = loss, [, source, title] = data.events[event];
    const [what, says] = data.reasons[reason];
    const facts = element("dl");
    for (const [key, value] of [["event", title], ["published", `${seconds(t)}, at ${name(source)}`], ["wanted by", `${client} at ${name(node)}`],
      ["it came", late < 0 ? "never" : `${tiny(late)} after its publication`], ["evidence", data.details[detail]]])
      facts.append(element("dt", key), element("dd", value));
    const head = element("p", `loss ${many(data.losses.indexOf(loss) + 1)} of ${many(data.losses.length)}`
      + (data.lost > data.losses.length ? ` that are marked, ${many(data.lost)} in all` : ""), "hint");
    return [head, element("h3", what), element("p", says, "says"), facts, way(loss), buttons(loss)];
  }

  // the hosts of the way, with the hop where it ended
  function way(loss) {
    const [, , , , , , near, far, path] = loss, line = element("p", undefined, "way");
    if (!path) {
      line.append(data.treeless ? "There is no tree: events are broadcast." : "No way through the tree led there when it was published.");
      return line;
    }
    line.append(element("span", "way through the tree: ", "hint"));
    path.forEach((host, k) => {
      const broken = k > 0 && path[k - 1] === near && host === far;
      if (k) line.append(element("span", broken ? " ✕ " : " → ", broken ? "broken" : ""));
      line.append(element("b", name(host)));
    });
    if (near >= 0) line.append(element("span", `; it ended between ${name(near)} and ${name(far)}`));
    return line;
  }

  function buttons(loss) {
    const row = element("p", undefined, "buttons"), [t, , , hops, came] = data.events[loss[1]];
    const last = Math.max(0, ...hops.filter((_, k) => k % 4 === 0 || k % 4 === 3), ...came.filter((_, k) => k % 2 === 0));
    const close = element("button", "Close", "plain");
    close.type = "button";
    close.addEventListener("click", () => {
      if (usual !== null) run.setSpeed(usual);
      usual = null;
      choose(null);
      $("next-loss").focus();
    });
    if ($("play")) {
      const slow = element("button", "Play it slowly");
      slow.type = "button";
      slow.disabled = !hops.length && !came.length;
      if (slow.disabled) slow.title = "No host sent it on";
      slow.addEventListener("click", () => {  // in some five seconds
        const wanted = Math.max(last, 10) / 1e4 / 5;
        usual ??= run.speed;
        const slower = run.speeds.filter((one) => one <= wanted);
        run.setSpeed(slower.length ? Math.max(...slower) : Math.min(...run.speeds));
        run.now = t / 100;
        run.setPlaying(true, Math.min(data.end - 1, (t + 1.1 * Math.max(last, 10)) / 100));
      });
      row.append(slow);
    }
    row.append(close);
    return row;
  }

  data.reasons.forEach((_, reason) => makeLane(reason));
  $("last-loss").addEventListener("click", () => pass(data.losses, -1));
  $("next-loss").addEventListener("click", () => pass(data.losses, 1));
  for (const id of ["last-loss", "next-loss"]) $(id).disabled = !data.losses.length;
  if (strip) strip.addEventListener("click", (e) => run.go(data.end * e.offsetX / strip.clientWidth));
  run.drawn.push(drawStrip);
  tell();
  run.draw();
})();
