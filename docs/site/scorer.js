// How the site's search finds and ranks. Sphinx lists a page only where it holds every word that was typed, counts a word
// in a decision of years ago as much as in the guide to it, and sorts what is equal by its address.

// Guides first, then what a program looks up, then what was decided, listed or changed.
const places = [
  [/^docs\/(decisions|rules)\//, 0.5],
  [/^(CHANGELOG|README|CONTRIBUTING|docs\/README|docs\/roadmap|docs\/benchmarks|docs\/closure|docs\/glossary)$/, 0.6],
  [/^(deploy|outputs|docs\/examples)\//, 0.6],
  [/^docs\/architecture$/, 0.7],
  [/^reference\//, 0.8],
];

// What strangers call it, and what it is called here.
const called = {
  backup: ["export", "restore"], cleanup: ["sweep"], computer: ["machine"], conversation: ["session"],
  continue: ["resume"], delete: ["erase", "forget"], docker: ["container"], editor: ["cursor", "claude"],
  corrupted: ["damage"], fastapi: ["asynchronous"], fix: ["correct", "supersede"], gui: ["page"], laptop: ["machine"], llm: ["model"],
  local: ["own"], offline: ["network"], remove: ["erase", "forget"], undo: ["restore", "rollback"],
  separate: ["apart"], transcript: ["conversation"], wrong: ["correct"],
};

const stemmer = new Stemmer();
const stemmed = new Map();
const stemOf = (word) => {
  if (!stemmed.has(word)) stemmed.set(word, stemmer.stemWord(word));
  return stemmed.get(word);
};
const wordsOf = (text) => [...new Set(splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word)).map(stemOf))];
const instead = new Map(Object.entries(called).map(([word, others]) => [stemOf(word), others.map(stemOf)]));

// Where a word counts how much: in a heading three times as much as in the text below it.
const HEADING = 3;
const TEXT = 1;
const INSTEAD = 0.7;
const MANY = 1.5; // two words in one place are worth more than one in each of two
const WORST = 0.25; // a page is listed that has so much of what the best one has

/** Return file → how much of a word it has, for a word of the query or what it is called here. */
const heldBy = (word, { terms, titleterms }) => {
  const held = new Map();
  const put = (files, much) => [files ?? []].flat().forEach((file) => held.set(file, Math.max(held.get(file) ?? 0, much)));
  for (const [one, share] of [[word, 1], ...(instead.get(word) ?? []).map((other) => [other, INSTEAD])]) {
    for (const [table, much] of [[terms, TEXT], [titleterms, HEADING]]) {
      if (Object.hasOwn(table, one)) put(table[one], much * share);
      else if (one.length > 3 && one === word)
        Object.keys(table).filter((term) => term.startsWith(one)).forEach((term) => put(table[term], much * share * 0.5));
    }
  }
  return held;
};

Search.performTermsSearch = (searchTerms, excludedTerms) => {
  const index = Search._index;
  const { docnames, filenames, titles, alltitles } = index;
  const asked = [...searchTerms].map((word) => {
    const held = heldBy(word, index);
    return { word, held, weight: held.size ? Math.log(1 + docnames.length / held.size) : 0 };
  });
  const whole = asked.reduce((sum, { weight }) => sum + weight, 0) || 1;
  const scores = new Map();
  for (const { held, weight } of asked)
    held.forEach((much, file) => scores.set(file, (scores.get(file) ?? 0) + (weight * much) / whole));
  for (const word of excludedTerms) heldBy(word, index).forEach((_, file) => scores.delete(file));

  // A heading that says it all is where the reader wants to be.
  const headings = new Map();
  for (const [title, found] of Object.entries(alltitles)) {
    const said = wordsOf(title);
    const met = asked.filter(({ word }) => said.includes(word) || (instead.get(word) ?? []).some((one) => said.includes(one)));
    if (!met.length) continue;
    const share = met.reduce((sum, { weight }) => sum + weight, 0) / whole;
    const score = HEADING * share ** MANY * Math.sqrt(met.length / said.length);
    for (const [file, id] of found)
      if (score > (headings.get(file)?.score ?? 0)) headings.set(file, { score, title, id });
  }
  const listed = [...scores].map(([file, score]) => {
    const { title, id, ...heading } = headings.get(file) ?? { score: 0 };
    const isPage = !title || id === null || titles[file] === title;
    const [name, place] = isPage ? [titles[file], ""] : [`${titles[file]} > ${title}`, `#${id}`];
    const fit = 10 * (score ** MANY + heading.score);
    return [docnames[file], name, place, null, fit, filenames[file], SearchResultKind.text];
  });
  const least = WORST * Math.max(...listed.map(Scorer.score));
  return listed.filter((result) => Scorer.score(result) >= least);
};

// A page is listed once, where it fits best; the names that code uses stand for themselves. The last one is shown first.
const ranked = Search._performSearch;
Search._performSearch = (...query) => {
  const pages = new Set();
  const isNew = ([page, , , , , , kind]) => kind === SearchResultKind.object || (!pages.has(page) && pages.add(page));
  return ranked(...query).reverse().filter(isNew).reverse();
};

// Where a place is an anchor without a text, Sphinx has nothing to show and fails; then the page itself is shown.
const summarised = Search.makeSearchSummary;
Search.makeSearchSummary = (html, words, anchor) =>
  summarised(html, words, anchor) ?? summarised(html, words, "") ?? document.createElement("p");

var Scorer = {
  score: ([docname, , , , score]) => score * (places.find(([pattern]) => pattern.test(docname))?.[1] ?? 1),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
};
