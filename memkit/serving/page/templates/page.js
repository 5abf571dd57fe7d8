// What a keyboard and a slider add. Without it every room can be read and every form sent.
"use strict";
const key = new URLSearchParams(location.hash.slice(1)).get("key");
const enter = document.getElementById("enter");
if (key && enter) {
  history.replaceState(null, "", location.pathname + location.search);
  enter.elements.key.value = key;
  enter.submit();
}
for (const one of document.querySelectorAll(".scripted")) one.hidden = false;

const slider = document.getElementById("slider");
if (slider) {
  const day = 86400000, from = Date.parse(slider.dataset.oldest), to = Date.parse(slider.dataset.today);
  const days = Math.max(1, Math.round((to - from) / day));
  const field = slider.form.elements.as_of;
  slider.max = days;
  slider.value = field.value ? Math.round((Date.parse(field.value) - from) / day) : days;
  slider.addEventListener("input", () => {
    field.value = new Date(from + slider.value * day).toISOString().slice(0, 10);
    document.getElementById("slid").textContent = field.value;
  });
  slider.addEventListener("change", () => slider.form.requestSubmit());
}

const believed = document.getElementById("believed");
if (believed) {
  const choice = believed.form.elements.at, last = choice.options.length - 1;  // newest first, as the slider is not
  believed.max = last;
  believed.value = last - choice.selectedIndex;
  believed.addEventListener("input", () => { choice.selectedIndex = last - believed.value; });
  believed.addEventListener("change", () => believed.form.requestSubmit());
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const area = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(area.href || area.value);
    button.textContent = "Copied";
  });
}

// An answer as it comes. What is written in the end is a page of its own, which is gone to then.
const form = document.getElementById("say-form"), said = document.getElementById("said");
function put(parent, tag, text = "", kind = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return parent.appendChild(made);
}
async function* linesOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button"), body = new URLSearchParams(new FormData(form));
  button.disabled = true;
  said.textContent = "";
  const turn = put(said, "section", "", "turn"), words = put(turn, "div"), beside = put(turn, "ul", "", "beside");
  put(put(words, "div", "", "said mine"), "p", body.get("text"));
  let part = null;
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/x-ndjson" } });
    if (!answer.headers.get("Content-Type").startsWith("application/x-ndjson")) throw new Error(answer.status === 401 ? "This visit is over. Load the page and enter again." : `That did not work (${answer.status}).`);
    for await (const told of linesOf(answer)) {
      if (told.fault) throw new Error(told.fault);
      if (told.go) { location.assign(told.go); return; }
      if (told.beside) {
        const line = put(beside, "li", `${told.beside} `);
        for (const id of told.ids) put(put(line, "a"), "code", id.slice(-6)).parentElement.href = `/memory/${encodeURIComponent(id)}`;
      } else {
        part ??= put(put(words, "div", "", "said"), "p");
        part.textContent = told.answer ?? part.textContent + told.text;
        if (told.answer !== undefined) part = null;
      }
    }
    throw new Error("The server went away before the answer was whole. Load the page to see what was kept.");
  } catch (error) {
    put(said, "p", error.message, "fault").setAttribute("role", "alert");
    button.disabled = false;
  }
});

// A second click, or a key that is held, sends nothing more: the answer to the first is on its way.
let sent = -Infinity;
addEventListener("pageshow", () => { sent = -Infinity; });
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !event.target.getAttribute("action").startsWith("/do/")) return;
  if (event.timeStamp - sent < 3000) event.preventDefault();
  else sent = event.timeStamp;
});

const cards = [...document.querySelectorAll("[data-card]")];
let place = -1;
function go(step) {
  place = Math.min(cards.length - 1, Math.max(0, place + step));
  cards[place].tabIndex = -1;
  cards[place].focus();
  cards[place].scrollIntoView({ block: "nearest" });
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); }
  } else if (cards.length && event.key === "j") go(1);
  else if (cards.length && event.key === "k") go(-1);
  else if (place >= 0 && (event.key === "a" || event.key === "r")) {
    cards[place].querySelector(`[data-deed]${event.key === "a" ? ":first-of-type" : ":last-of-type"}`)?.click();
  }
});
