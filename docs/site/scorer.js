// What Sphinx's search asks how well a page fits. Left to itself it counts a word in a decision of years ago as much as in
// the guide to it, and sorts what is equal by its address.
const sought = (new URLSearchParams(window.location.search).get("q") || "")
  .toLowerCase()
  .split(/\W+/)
  .filter((word) => word.length > 2);

// The first letters stand for a word in all its forms: "merge" for "merges" and "merging".
const stem = (word) => word.slice(0, Math.max(4, word.length - 3));

// Guides first, then what a program looks up, then what was decided, listed or changed.
const places = [
  [/^docs\/(decisions|rules)\//, -12],
  [/^(CHANGELOG|README|CONTRIBUTING|docs\/README|docs\/roadmap|docs\/benchmarks|docs\/glossary)$/, -8],
  [/^(deploy|outputs|docs\/examples)\//, -8],
  [/^reference\//, -4],
];

var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const named = title.toLowerCase().split(/\W+/);
    const hits = sought.filter((word) => named.some((other) => other.startsWith(stem(word))));
    const place = places.find(([pattern]) => pattern.test(docname));
    return score + (10 * hits.length) / (sought.length || 1) + (place ? place[1] : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
