// SPDX-License-Identifier: MIT
// Questions in English: words without information are removed, and the others are written in one form.

/** Words without information on a position or an instruction. "a", "i" and "on" are not among them: an operand, an index, and the word before a chip. */
const EMPTY_WORDS = new Set(`
  which what who whose whom where when how why is are am was were be been being does do did has have had having can could
  would should shall will may might must please tell show give gives given find get gets got list see look say says me my
  we us our you your they them their it its this that these those there here the an any all each every some both
  of in into inside within at by for from to with as and or number no id many much so just exactly actually then
  hold holds holding held own owns owned owning keep keeps kept contain contains contained containing carry carries stored
  store stores load loads read reads write writes belong belongs lie lies lying live lives sit sits located found
  location position place copy copies value values item items entry entries data content contents memory block
  operand operands instruction instructions fragment fragments question`.split(/\s+/).filter(Boolean));

/** Words that name a position only together with a number. */
const COUNTED = /^(?:cta|tid|lanes?|threads?|warps?|registers?|regs?|rows?|col(?:umn)?s?|matri(?:x|ces)|products?|elements?|index|indices|bits?)$/i;

/** Other ways to write a position, and the standard form. */
const WRITTEN = [
  [/['’]s\b/gi, " "],
  [/%?\blane[_ ]?(?:id|idx|index)\b/gi, "lane"],
  [/%?\b(?:threadidx|tid)(?:\.x\b|\b(?!\.))|\bthread[_ ]?(?:idx|id|index)\b(?!\.)/gi, "tid"],
  [/#\s*(?=\d)/g, ""],
  [/\s*=\s*(?=\d)/g, "="],
  [/\s*:\s+(?=\d)/g, ":"],
  [/(?<![\w:])([abcdr])\s*:\s+/gi, "$1 "],
  [/\bscales?[_ ]?(?:of\s+)?([ab])\s*(?=[(\[])/gi, "S$1"],
  [/\b([abcd])(?:_frag)?\.x\s*\[\s*(\d+)\s*\]/gi, "x$2 $1"],
  [/\b([abcd])\s*\[\s*(\d+)\s*\](?!\s*[\[(])/gi, "$1$2"],
  [/(^|\s)([abcd])\s+(\d+)(?:\s*,\s*|\s+)(\d+)(?=[\s?.;]*$|\s+[a-z(])/gi, "$1$2[$3][$4]"],
  [/\bcol(?:umn)?\s*=?\s*(\d+)\s*,?\s*(?:(?:and|of|in)\s+)?row\s*=?\s*(\d+)/gi, "row $2 col $1"],
  [/^\s*(\d+)(?:\s*,\s*|\s+)(\d+)[\s?.]*$/, "($1, $2)"],
];

const bare_word = (token) => token?.replace(/^["'“‘]+|["'”’,;:.?!]+$/g, "") ?? "";

/** A question without its empty words; names of other notations are unchanged. */
function without_english(text) {
  if (LOOKS.fragment.test(text) || CUTE_TEXT.test(text)) return kept_words(text);
  return kept_words(WRITTEN.reduce((said, [way, one]) => said.replace(way, one), text));
}

function kept_words(text) {
  const tokens = text.trim().split(/\s+/).filter((x) => !EMPTY_WORDS.has(bare_word(x).toLowerCase()));
  const said = (i) => COUNTED.test(bare_word(tokens[i])) && !(/^[=:\[]?\d/.test(tokens[i + 1] ?? "")
    || (/^reg/i.test(tokens[i]) && /^[abcdr]\d/i.test(tokens[i + 1] ?? "")));
  const article = (i) => tokens[i] === "a" && said(i + 1);
  return tokens.filter((x, i) => !said(i) && !article(i) && !(x === "on" && i < tokens.length - 1)).join(" ").replace(/[,;:]+$/, "");
}

/** Example questions that have an answer, for the help. */
const EXAMPLES = ["lane 5", "T5 a1", "x3", "(9, 3)", "who holds A[9][3]?", "row 9, column 3 of A", "lane 7 of B", "threadIdx.x = 37",
  "C[1][12] of wmma m16n16k16", "T5 of ldmatrix.x4", "lane 5 of HMMA.16816.F32", "C[1][12] of wmma m16n16k16 on v100"];

const asks_for_help = (text) => /^\s*(?:\?+|-{0,2}help|(?:some\s+)?examples?|how\s+to\s+ask|what\s+can\s+i\s+ask)[?!.\s]*$/i.test(text);
