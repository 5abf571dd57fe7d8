// A picture of up to 2,000 things that finds its own places: those near push each other away, ties pull together.
"use strict";
const canvas = document.getElementById("moving");
const COLOURS = { person: "#3f7fc1", organisation: "#b9851f", place: "#3b9160" };
const CELL = 90, STEPS = 240;

async function begin() {
  const answer = await fetch(canvas.dataset.from);
  if (!answer.ok) return;
  const { nodes, ties, left } = await answer.json();
  const things = nodes.map(([name, kind], number) => {
    const turn = number * 2.4, away = 26 * Math.sqrt(number);  // a spiral: the same picture each time
    return { name, kind, colour: COLOURS[kind] || "#8b867d", x: away * Math.cos(turn), y: away * Math.sin(turn), dx: 0, dy: 0, ties: 0 };
  });
  for (const [from, to] of ties) { things[from].ties++; things[to].ties++; }
  const told = document.getElementById("told"), help = told.textContent;
  const view = { x: 0, y: 0, scale: 1, follows: true };
  let chosen = -1, held = null, step = 0, asked = false;
  const frames = [];  // in milliseconds, for who measures them

  function settle() {
    const heat = 1 - step / STEPS, cells = new Map();
    things.forEach((one) => {
      const cell = `${Math.round(one.x / CELL)},${Math.round(one.y / CELL)}`;
      if (!cells.has(cell)) cells.set(cell, []);
      cells.get(cell).push(one);
    });
    for (const [cell, here] of cells) {
      const [across, down] = cell.split(",").map(Number);
      for (let x = across - 1; x <= across + 1; x++) for (let y = down - 1; y <= down + 1; y++) {
        const near = (cells.get(`${x},${y}`) || []).slice(0, 40);
        for (const one of here) for (const other of near) {
          const dx = one.x - other.x, dy = one.y - other.y, square = dx * dx + dy * dy;
          if (square === 0 || square > CELL * CELL) continue;
          const push = 220 / (square + 20);
          one.dx += dx * push; one.dy += dy * push;
        }
      }
    }
    for (const [from, to] of ties) {
      const one = things[from], other = things[to], dx = other.x - one.x, dy = other.y - one.y;
      const pull = 0.02 * (1 - 50 / (Math.hypot(dx, dy) + 1));
      one.dx += dx * pull; one.dy += dy * pull; other.dx -= dx * pull; other.dy -= dy * pull;
    }
    for (const one of things) {
      const far = Math.hypot(one.dx, one.dy), most = 1 + 24 * heat, slow = far > most ? most / far : 1;
      if (one !== held) { one.x += one.dx * slow - one.x * 0.004; one.y += one.dy * slow - one.y * 0.004; }
      one.dx = one.dy = 0;
    }
    step++;
  }

  function fit() {
    const xs = things.map((one) => one.x), ys = things.map((one) => one.y);
    const [west, east, north, south] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    view.scale = Math.min(2, canvas.clientWidth / (east - west + 140), canvas.clientHeight / (south - north + 60));
    view.x = (west + east) / 2; view.y = (north + south) / 2;
  }

  function draw() {
    const pen = canvas.getContext("2d"), dense = window.devicePixelRatio || 1, style = getComputedStyle(canvas);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * dense)) { canvas.width = Math.round(width * dense); canvas.height = Math.round(height * dense); }
    if (view.follows) fit();
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.translate(width / 2, height / 2); pen.scale(view.scale, view.scale); pen.translate(-view.x, -view.y);
    pen.lineWidth = 1 / view.scale; pen.strokeStyle = style.color; pen.globalAlpha = 0.3;
    pen.beginPath();
    for (const [from, to] of ties) { pen.moveTo(things[from].x, things[from].y); pen.lineTo(things[to].x, things[to].y); }
    pen.stroke();
    pen.globalAlpha = 1; pen.fillStyle = style.color; pen.font = `${12 / view.scale}px ${style.fontFamily}`; pen.textAlign = "center";
    if (view.scale > 1.1 && ties.length < 400) for (const [from, to, how] of ties) {
      const one = things[from], other = things[to];
      pen.globalAlpha = 0.7; pen.fillText(how, (one.x + other.x) / 2, (one.y + other.y) / 2); pen.globalAlpha = 1;
    }
    const names = things.length * view.scale * view.scale < 60 || things.length <= 60;
    things.forEach((one, number) => {
      const size = (4 + Math.min(6, Math.sqrt(one.ties))) / Math.max(view.scale, 0.5);
      pen.fillStyle = one.colour;
      pen.beginPath(); pen.arc(one.x, one.y, size, 0, 7); pen.fill();
      if (number === chosen) { pen.strokeStyle = style.color; pen.lineWidth = 3 / view.scale; pen.stroke(); }
      if (names || number === chosen || number < 12) { pen.fillStyle = style.color; pen.fillText(one.name, one.x, one.y - size - 4 / view.scale); }
    });
  }

  function frame() {
    asked = false;
    const began = performance.now();
    if (step < STEPS) settle();
    draw();
    if (frames.length < 300) frames.push(Math.round((performance.now() - began) * 10) / 10);
    if (step === STEPS) canvas.dataset.frames = JSON.stringify(frames);
    canvas.dataset.step = step;
    if (step < STEPS) again();
  }
  function again() { if (!asked) { asked = true; requestAnimationFrame(frame); } }

  function at(event) {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - box.width / 2) / view.scale + view.x, (event.clientY - box.top - box.height / 2) / view.scale + view.y];
  }
  function nearest(event) {
    const [x, y] = at(event), reach = 14 / view.scale;
    let best = -1, least = reach * reach;
    things.forEach((one, number) => { const far = (one.x - x) ** 2 + (one.y - y) ** 2; if (far < least) { least = far; best = number; } });
    return best;
  }
  function choose(number) {
    if (number === chosen) return;
    chosen = number;
    told.textContent = number < 0 ? help : `${things[number].name}: ${things[number].kind}, ${things[number].ties} tie${things[number].ties === 1 ? "" : "s"}`;
    again();
  }
  function zoom(by) { view.follows = false; view.scale = Math.min(8, Math.max(0.02, view.scale * by)); again(); }
  function open() { if (chosen >= 0) location.assign(`${location.pathname}?around=${encodeURIComponent(things[chosen].name)}`); }

  let pressed = null, moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pressed = [event.clientX, event.clientY]; moved = false;
    const number = nearest(event);
    held = number < 0 ? null : things[number];
    choose(number);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!pressed) { choose(nearest(event)); return; }
    const dx = event.clientX - pressed[0], dy = event.clientY - pressed[1];
    if (Math.hypot(dx, dy) < 4 && !moved) return;
    moved = true;
    if (held) { [held.x, held.y] = at(event); step = Math.min(step, STEPS - 40); }
    else { view.follows = false; view.x -= dx / view.scale; view.y -= dy / view.scale; }
    pressed = [event.clientX, event.clientY];
    again();
  });
  canvas.addEventListener("pointerup", () => { if (pressed && !moved) open(); pressed = held = null; });
  canvas.addEventListener("pointercancel", () => { pressed = held = null; });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15); }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const go = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (go) { view.follows = false; view.x += go[0] * 60 / view.scale; view.y += go[1] * 60 / view.scale; again(); }
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") { view.follows = true; again(); }
    else if (event.key === "n" || event.key === "p") choose((chosen + (event.key === "n" ? 1 : things.length - 1) + things.length) % things.length);
    else if (event.key === "Enter") open();
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => { canvas.width = 0; again(); }).observe(canvas);
  if (left) told.textContent = `${told.textContent} ${left.toLocaleString("en")} more things have fewer ties and are not drawn.`;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) while (step < STEPS) settle();
  again();
}
if (canvas) begin();
