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

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const area = document.getElementById(button.dataset.copy);
    area.select();
    await navigator.clipboard.writeText(area.value);
    button.textContent = "Copied";
  });
}

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
    cards[place].querySelector(`[data-deed="${event.key === "a" ? "approve" : "turn-down"}"]`)?.click();
  }
});
