// Which moment of the run is shown, and how fast time passes. What draws it adds itself to `drawn`. Times in 0.01 s.
"use strict";
const run = (() => {
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const $ = (id) => document.getElementById(id);
  const play = $("play"), slider = $("time"), clock = $("clock"), speed = $("speed");  // there with a map only
  const ink = {}, drawn = [];
  let playing = false, last = null, until = data.end;

  const readInk = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "faint", "blob", "radio", "host-edge", "alone", "warm", "bound", "rule", "bad", "good"])
      ink[name] = style.getPropertyValue("--" + name).trim();
  };

  // the canvas as large as it is shown, and a pen in its pixels; with a ratio it becomes so high, but fits the window
  function fit(element, ratio) {
    const scale = window.devicePixelRatio || 1, width = element.clientWidth;
    const height = ratio ? Math.min(Math.round(width * ratio), Math.round(Math.max(320, Math.min(720, window.innerHeight * 0.64)))) : element.clientHeight;
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

  // so exact that a step on the screen shows
  const said = (t) => (t / 100).toFixed(run.speed < 0.05 ? 4 : run.speed < 1 ? 2 : 1) + " s";

  function draw() {
    if (clock) {
      clock.textContent = said(run.now);
      slider.value = Math.round(run.now);
      slider.setAttribute("aria-valuetext", clock.textContent);
    }
    for (const part of drawn) part();
  }

  function go(t) {
    run.now = Math.max(0, Math.min(data.end - 1, t));
    draw();
  }

  function step(stamp) {
    if (!playing) return;
    if (last !== null) run.now += Math.min(0.25, (stamp - last) / 1000) * 100 * run.speed;
    last = stamp;
    if (run.now >= until) { run.now = until; setPlaying(false); }
    draw();
    if (playing) requestAnimationFrame(step);
  }

  function setPlaying(on, stop = data.end - 1) {
    if (!play) return;
    if (on && run.now >= data.end - 1) run.now = 0;
    until = stop; playing = on; last = null;
    play.textContent = on ? "Pause" : "Play";
    if (on) requestAnimationFrame(step);
  }

  function setSpeed(times) {
    run.speed = times;
    if (speed) speed.value = String(times);
  }

  const run = { data, $, ink, drawn, now: 0, speed: 10, fit, draw, go, setPlaying, setSpeed,
    speeds: speed ? [...speed.options].map((option) => Number(option.value)) : [] };
  if (play) {
    play.addEventListener("click", () => setPlaying(!playing));
    slider.addEventListener("input", () => go(Number(slider.value)));
    speed.addEventListener("change", () => { run.speed = Number(speed.value); draw(); });
    slider.max = Math.max(data.end - 1, 0);
  }
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readInk(); draw(); });
  run.now = Math.max(0, Math.min(data.end - 1, Math.round(data.end / 2)));
  readInk();
  return run;
})();
