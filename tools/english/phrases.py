# SPDX-License-Identifier: MIT
"""Phrases that the project's prose does not use, and what to write instead.

A pattern is a regular expression for text with one space between words and one line for each paragraph; upper and
lower case are the same.
"""

import re
from functools import cached_property
from typing import NamedTuple


class Phrase(NamedTuple):
    """A rule: what is found, what to write, why, and a sentence of each sort.

    ``in_names`` is False of a rule that the names of tests, which have no punctuation and no articles, are free of.
    """

    pattern: str
    write: str
    why: str
    bad: str
    good: str
    in_names: bool = True


class Compiled:
    """A rule with its compiled pattern."""

    def __init__(self, phrase: Phrase) -> None:
        self.phrase = phrase

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression."""
        return re.compile(self.phrase.pattern, re.IGNORECASE | re.MULTILINE)


class Quoted(NamedTuple):
    """Words that must stay: no rule applies to them in files whose path begins with ``where``."""

    words: str
    where: str
    why: str


_EXPLORER = "wmma_emu/applications/explorer/script/english.js"
_QUESTIONS = "tests/browser/test_explorer_questions.py"

QUOTED = (
    Quoted("lanes store to one place", "", "the title of a kind of finding, which users type"),
    Quoted("cut toward zero to ", "", "the description of a model: tests parse it in recorded output of probes"),
    Quoted("cut toward zero at ", "", "a line of explanations, which pages and pictures show"),
    Quoted("accepted by ptxas 13.0 from {} on", "wmma_emu/scalar/cvt_table.py", "the source of an entry of the table"),
    Quoted("the bits stay as they are", "wmma_emu/scalar/cvt_table.py", "the source of an entry of the table"),
    Quoted("is that of MMA-Sim, whose", "wmma_emu/arithmetic/blackwell_table.py", "a note of the models' table"),
    Quoted("who whose whom where", _EXPLORER, "words that the explorer ignores in questions"),
    Quoted("would should shall will", _EXPLORER, "words that the explorer ignores in questions"),
    Quoted("who has ", _QUESTIONS, "questions that users type"),
    Quoted("who owns ", _QUESTIONS, "questions that users type"),
    Quoted("a color that is modeled", "tests/docs/test_site_keyboard.py", "American words that the search finds"),
)

PHRASES = [
    Phrase(
        r"\bnobody (?:has |had |have )?(?:wrote|written|writes|computed|stored|set|sets|fills|filled)\b",
        "uninitialised (of memory) / never written / no thread writes", "threads are not people",
        "It reads what nobody wrote.", "It reads uninitialised memory.",
    ),
    Phrase(
        r"\bnobody(?:'s)?\b(?! (?:wrote|written|writes|computed|stored|set|sets|fills|filled|ha[sd]|have)\b)",
        "no thread / no code / nothing", "code is not a person",
        "A value that nobody reads is dropped.", "A value that is never read is dropped.",
    ),
    Phrase(
        r"\bwhoever\b",
        "the threads that / the code that", "threads are not people",
        "Release whoever waits at the barrier.", "Release the threads that wait at the barrier.",
    ),
    Phrase(
        r"\b(?=who)"
        r"(?<!\busers )(?<!\buser )(?<!\breaders )(?<!\breader )(?<!\bpeople )(?<!\bteachers )(?<!\bdevelopers )"
        r"(?<!\bauthors )(?<!\bstudents )(?<!\banyone )(?<!\byou )(?<!\bengineer )(?<!-)whom?\b(?!-| says? so)",
        "which threads / the threads that / which lane", "threads are not people",
        "Return who waits at the barrier.", "Return which threads wait at the barrier.",
    ),
    Phrase(
        r"\b(?:who says|says|said) so\b|^say so\b",
        "the source of this / states this / documents this", "name the source",
        "The page shows who says so.", "The page shows the source of each fact.",
    ),
    Phrase(
        r"(?<!\bthere )(?<!\band )\b(?:is|are|was|were|be|as) no (?!longer|more|less|better|worse|need|doubt|"
        r"reason|use\b|wider|larger|one\b)(?=\S)",
        "is not a / is not an / does not exist", '"is no X" is a Germanism',
        "The name is no chip.", "The name is not a chip.",
    ),
    Phrase(
        r"(?<!\bthere )\b(?:is|are|was|were) none of\b",
        "is not one of / belongs to none of", '"is none of" is a Germanism',
        "The value is none of the formats.", "The value is not one of the formats.",
    ),
    Phrase(
        r"(?<!\bthere )\b(?:is|are|was|were) (?-i:none)\b(?! of\b)(?=[.,;:)]|$| that| and| where)",
        "is not one / there is none", '"is none" is a Germanism',
        "For an axis that is none.", "If the axis does not exist.",
        in_names=False,
    ),
    Phrase(
        r"\bwhat (?:is|are) not (?:an?|one)\b|\bwhat (?:is|are) no\b(?! longer)",
        "anything that is not a / anything else", "name what is meant",
        "FragmentMismatchError: for what is not a tile.",
        "A value that is not a number, which is not an error.",
    ),
    Phrase(
        r"\bnot any more\b|\bno more (?:is|are|was|were)\b",
        "no longer / nothing else", "word order",
        "No more is asked once every race has a use.", "The search ends once every race has a use.",
    ),
    Phrase(
        r"\bbehind\b(?! the scenes)",
        "after / following / beyond / past", '"behind" is for places only',
        "Options come behind operands.", "Options come after operands.",
    ),
    Phrase(
        r"(?<!\bside )\bbeside\b(?! the point)",
        "next to / with / in addition to / together with / as well as", '"beside" is for places only',
        "Errors are printed beside the result.", "Errors are printed with the result.",
    ),
    Phrase(
        r"\bbesides\b",
        "in addition to / also / apart from", "prefer the plain word",
        "It has no state besides the registers.", "It has no state apart from the registers.",
    ),
    Phrase(
        r"\bin (?:the )?places? of\b",
        "instead of", "Germanism",
        "Words in the place of mnemonics are accepted.", "Words instead of mnemonics are accepted.",
    ),
    Phrase(
        r"\b(?:has|have|had|gets?|with) (?:its|their|no|other|another|the same|an?) places?\b|\ba place in an?\b",
        "position / address / location / index", "say which kind of place",
        "Elements have other places on sm_70.", "Elements have other positions on sm_70.",
    ),
    Phrase(
        r"\b(?:at|to|in|of|from) (?:one|each|every|that|which|another|other|some|several|all) places?\b|"
        r"(?<!\blast )\bplaces? (?:that|where|of (?:the|an?|each|every|all|one))\b",
        "address / position / location / instruction (pc)", "say which kind of place",
        "Lanes store to one place.", "Lanes store to one address.",
    ),
    Phrase(
        r"\bstand(?:s|ing)? (?:in|at|on|before|after|behind|beside|below|above|there|here|where|first|last|alone|"
        r"next|between|under|right|left|outside|apart|elsewhere)\b(?! for\b)|"
        r"\bwhere (?:\S+ ){1,7}?stands?\b(?! for\b)|\bwhat stands\b|\bstood\b",
        "is / is written / appears / is listed", '"stand" is a Germanism for "be" or "be written"',
        "The comment stands in line 16.", "The comment is in line 16.",
    ),
    Phrase(
        r"\blies? (?:in|at|on|behind|beside|there|here|where|anywhere|apart|alike|elsewhere)\b|"
        r"\bwhere (?:\S+ ){1,8}?lie\b|\bas (?:they|it) lies?\b",
        "is (stored) in / is at / are stored", '"lie" is a Germanism for "be stored"',
        "An element lies in shared memory.", "An element is stored in shared memory.",
    ),
    Phrase(
        r"\b(?:is|are|was|were) not there\b",
        "is missing / is not installed / is not supported / does not exist", "say what is missing",
        "The driver is not there.", "The driver is not installed.",
    ),
    Phrase(
        r"\b(?:what|that|which|all|as|who|elements|bytes|threads) (?:is|are|was|were) there\b|\b(?:is|are|was|"
        r"were) there(?=[.,;:)]|$)",
        "exists / is present / is available", "say it with a verb",
        "Say that the bytes are there.", "Record that the bytes have arrived.",
        in_names=False,
    ),
    Phrase(
        r"\b(?:what|that|which|all|who|stands) (?:is |are |was |were |stands )?here\b|, here,|\bhere (?:is|"
        r"are) (?:what|that|those)\b",
        "in this file / on this machine / (omit)", '"here" is a filler: name the place',
        "What is here is printed.", "The table is printed.",
    ),
    Phrase(
        r"\bthe (?:gpu|machine|compiler|driver|assembler) here\b|\bno (?:display|ptxas|gpu|compiler|driver|nvcc|"
        r"cuda) here\b",
        "this machine's GPU / ... on this machine", "name the place",
        "The GPU here is sm_90.", "This machine's GPU is sm_90.",
    ),
    Phrase(
        r"\bat hand\b",
        "available / local / installed", "idiom",
        "The GPU at hand differs.", "The local GPU differs.",
    ),
    Phrase(
        r"(?<![='*/])\bnowhere\b(?! (?:near|else))(?![/'])",
        "not ... anywhere / at no address / in no ...", "telegram",
        "The address is nowhere.", "The address is not in any allocation.",
    ),
    Phrase(
        r"\b(?:below|under|above|beneath) each other\b",
        "one below the other / in a column / stacked", "Germanism",
        "Panels are drawn below each other.", "Panels are stacked.",
    ),
    Phrase(
        r"\bon (?:its|their) way\b",
        "pending / in flight / while being copied", "field's term",
        "The copy is on its way.", "The copy is in flight.",
    ),
    Phrase(
        r"\b(?:is|are|and|which is|finds?|has|have) the way back\b|^the way back\b|\bthe way of (?:an?|one|the)\b|"
        r", and the way back\b",
        "the inverse / the path of / a walkthrough of", "name the function",
        "`column_of` is the way back.", "`column_of` is the inverse.",
    ),
    Phrase(
        r"(?<!\bis )(?<!\bwith )(?<!\bhave )(?<!\bmost )\brooms?\b(?! for\b| (?:is|to)\b)",
        "package (of code) / space / capacity", "private metaphor",
        "Nothing outside of this room sees codes.", "Nothing outside this package sees codes.",
    ),
    Phrase(
        r"\bwhereabouts\b",
        "thread states", "field's term",
        "Print the whereabouts of the threads.", "Print the thread states.",
    ),
    Phrase(
        r"\b(?:take[sn]?|taking|took) (?:\S+ ){0,4}?apart\b",
        "decode / split / unpack / parse", "field's term",
        "Take an opcode apart.", "Split an opcode into its parts.",
    ),
    Phrase(
        r"\b(?:tells?|told|telling) (?:\S+ ){0,4}?apart\b",
        "distinguish", "one verb",
        "The edges family tells models apart.", "The edges family distinguishes models.",
    ),
    Phrase(
        r"\btells? (?:an?|the|one) \S+ from\b|\bwhat tells\b",
        "distinguish from", "one verb",
        "What tells a copy from a load.", "The bits that distinguish a copy from a load.",
    ),
    Phrase(
        r"\b(?:is|are|was|were|be) told (?:of|about|what|which|that|whether)\b|\ball (?:is|about \S+ is) told\b|"
        r"\bis told\.",
        "receives / is passed / is shown / is reported", "code is not told things",
        "The checker is told of each launch.", "The checker is notified of each launch.",
    ),
    Phrase(
        r"\btells? all (?:about|of)\b",
        "describe", "idiom",
        "Tell all about one chip.", "Describe one chip.",
    ),
    Phrase(
        r"\bmend(?:s|ed|ing)?\b",
        "fix / correct / repair", "archaic",
        "A barrier would mend the race.", "A barrier would fix the race.",
    ),
    Phrase(
        r"\b(?:go|goes|going|went|gone) on\b",
        "continue / proceed", "phrasal verb",
        "The threads go on.", "The threads continue.",
    ),
    Phrase(
        r"\bcomes? to (?:one|an?|the|nothing|this|that|its)\b(?! (?:end|mind))",
        "reach / arrive at / amount to", "Germanism",
        "A thread comes to a barrier.", "A thread reaches a barrier.",
    ),
    Phrase(
        r"\b(?:goes|go) with(?! (?:the|an?) \S+ (?:of|on) )\b",
        "is compatible with / is used with / match", "Germanism",
        "Refuse options that the mnemonic does not go with.", "Reject options that the mnemonic does not support.",
    ),
    Phrase(
        r"\bgo(?:es)? without\b|\bdo(?:es)? without\b|\bmake do\b",
        "does not need / omits", "idiom",
        "A launch goes without a stream.", "A launch does not need a stream.",
    ),
    Phrase(
        r"\bfound out\b|^find out (?:by|whether|where|how)\b|\bfinds out\b",
        "determine / infer / detect", "phrasal verb",
        "The type is found out from the arguments.", "The type is inferred from the arguments.",
    ),
    Phrase(
        r"\bmade (?:up )?of\b",
        "built from / composed of / consists of / computed from", "Germanism",
        "The message is made of two parts.", "The message consists of two parts.",
    ),
    Phrase(
        r"\bwhat (?!(?:\S+ ){0,6}?(?:is|are|was|be) made of)(?:\S+ ){1,6}?(?:makes?|made) of\b",
        "build from / produce from / how X interprets", "Germanism",
        "Return what the compiler made of it.", "Return the PTX that the compiler produced.",
    ),
    Phrase(
        r"\bwhat (?:becomes|became) of\b",
        "what happens to / how X is handled", "idiom",
        "Say what becomes of findings.", "Choose how findings are handled.",
    ),
    Phrase(
        r"\bhand(?:s|ed|ing)? on\b",
        "pass on / forward / release (of memory order)", "field's term",
        "Threads hand on what they have seen.", "Threads release what they have observed.",
    ),
    Phrase(
        r"\b(?:is|are|was|were|be|been) asked (?:for|of|to|about|what|which|whether|with)\b|\bis asked\b",
        "requested / queried / needed / read", "code is not asked",
        "The format that is asked for.", "The requested format.",
    ),
    Phrase(
        r"\b(?:is|are|was|were|be) wanted\b|\bwanted:",
        "expected / requested / required", "state the requirement",
        "An array of f16 is wanted.", "An array of f16 is required.",
    ),
    Phrase(
        r"\b(?=want)"
        r"(?<!\byou )(?<!\bpeople )(?<!\busers )(?<!\bmay )(?<!\bwe )(?<!\bthey )(?<!\bonly )(?<!\bwho )wants?\b",
        "needs / requires / expects", "machines require",
        "nvcc wants a host compiler.", "nvcc requires a host compiler.",
    ),
    Phrase(
        r"\b(?:it|this|that|module|package|library|emulator|table|function|compiler|which|nothing|ptxas|nvcc|"
        r"triton|numpy|machine|kernel|launch|checker) knows?\b|\b(?:is|are) known of\b|\bwhat (?:it|is|"
        r"was) known? of\b",
        "supports / recognises / has / records", "code does not know",
        "The table knows sm_90.", "The table has an entry for sm_90.",
    ),
    Phrase(
        r"\blearn(?:s|ed|t)? (?:of|what|which|whether|that|where|how|from)\b(?! you)",
        "determine / receive / record", "code does not learn",
        "The engine learns of the scales.", "The engine receives the scales.",
    ),
    Phrase(
        r"\bjudge(?:s|d)?\b|\ba judge\b",
        "oracle / check / validate", "field's term",
        "ptxas is the judge of spellings.", "ptxas is the oracle for spellings.",
    ),
    Phrase(
        r"\bdoubt(?:s|ed|ing|ful)?\b",
        "caveat / uncertain / unverified", "field's term",
        "The report lists doubts.", "The report lists caveats.",
    ),
    Phrase(
        r"\b(?:looked|looking|looks?) around\b|\bsought\b|\b(?:is|are|was|were) (?:not )?looked for\b",
        "searched / checked", "one verb",
        "Races are looked for in each launch.", "Each launch is checked for races.",
    ),
    Phrase(
        r"\brefuse (?:what|whatever|whoever|those|all)\b",
        "reject a/an X that ... / raise an error for", "name what is rejected",
        "Refuse what products with scales do not go with.", "Reject options that scaled products do not support.",
    ),
    Phrase(
        r"\b(?:give|gives|gave|giving|given) (?:back )?(?:what|whatever|those)\b",
        "return / produce / define", "name the object",
        "A factory gives what is drawn.", "A factory returns the drawn value.",
    ),
    Phrase(
        r"\bgiven back\b|\bgives? back\b",
        "released / returned", "one verb",
        "The lock is given back.", "The lock is released.",
    ),
    Phrase(
        r"\blead(?:s)? (?:elsewhere|nowhere|back|there|round)\b",
        "point to / map to", "idiom",
        "The pointer leads nowhere.", "The pointer is invalid.",
    ),
    Phrase(
        r"\breckon(?:s|ed|ing)?\b",
        "compute / assume", "archaic",
        "The amax to reckon with.", "The amax to use.",
    ),
    Phrase(
        r"\bcut (?:towards?|downwards?|off (?:at|to|below)|to (?!at most|fit))\b",
        "truncated / rounded toward zero / cropped", "field's term",
        "The sum is cut toward zero.", "The sum is rounded toward zero.",
    ),
    Phrase(
        r"\b(?:pointed out|points? out)\b(?! that)",
        "highlighted / marked", "field's term",
        "The element that is pointed out.", "The highlighted element.",
    ),
    Phrase(
        r"\b(?:is|are|was|were|as|be|equals?|than|has|have) (?:that|those) of\b",
        "is the same as / equals X's / matches", "repeat the noun or use 's",
        "The bits are those of the GPU.", "The bits are the same as on the GPU.",
    ),
    Phrase(
        r"\b(?:of|with|for|by|to|than|are|is|one|those|other|have|has|in|from|had|any) such\b(?=[.,;:)]|$| (?:is|"
        r"are|has|have|that|do|does|in|of|on|it)\b)",
        "of this kind / these / (repeat the noun)", '"such" is not a pronoun',
        "A kernel with such is rejected.", "A kernel with such loops is rejected.",
    ),
    Phrase(
        r"\b(?:and|or|of) (?:its|their|his) likes?\b|\b(?:and|or) the like\b|\bthe likes? of\b|\b(?:its|"
        r"their) like\b",
        "similar / and others / the other chips", "idiom",
        "Barriers and their like.", "Barriers and similar instructions.",
    ),
    Phrase(
        r"\bof (?:its|their|his|our|my) own\b",
        "its own X / a separate X", "word order",
        "A scale has a register of its own.", "A scale has its own register.",
    ),
    Phrase(
        r"\b(?:by|of) (?:itself|themselves)\b",
        "automatically / on its own / alone", "Germanism",
        "Copies end by themselves.", "Copies end on their own.",
    ),
    Phrase(
        r"\bfor (?:itself|themselves)\b",
        "private / per thread / its own", "Germanism",
        "A thread has registers for itself.", "Each thread has private registers.",
    ),
    Phrase(
        r"\b(?=of th)(?<!\bany )(?<!\bnone )(?<!\beach )(?<!\bone )(?<!\bsome )(?<!\bmost )(?<!\ball )(?<!\bboth )"
        r"(?<!\bpart )(?<!\bfew )\bof (?:these|those)(?=[.:;)]|$)",
        "(repeat the noun)", "dangling pronoun",
        "What is an integer of these.", "The integers among the formats.",
        in_names=False,
    ),
    Phrase(
        r"\ball that\b(?! (?:is|are) (?:needed|left|matters))",
        "everything that / all X that", "telegram",
        "Return all that the compiler said.", "Return everything that the compiler printed.",
    ),
    Phrase(
        r"\b(?=for what)"
        r"(?<!\bwait )(?<!\bwaits )(?<!\blook )(?<!\blooks )(?<!\bup )(?<!\baccount )\bfor what\b(?! reason)",
        "for an X that / if X", "name what is meant",
        "For what is no array.", "If it is not an array.",
    ),
    Phrase(
        r"\bin what\b(?! order| way| follows| it )|\bto what\b(?! extent)|\bthan what\b|\bwith what (?:it|they|"
        r"its|is|was)\b",
        "how / the X that / which X", "name what is meant",
        "Say in what chips differ.", "Say how chips differ.",
    ),
    Phrase(
        r"\bof what (?:is|was|are|were|it|they|the|an?|has|have|had|each|comes|stands|does|do|lies)\b",
        "of the X that", "name what is meant",
        "The bits of what is written.", "The bits of the written value.",
    ),
    Phrase(
        r"\bof what (?:is|was) left\b|^what (?:is|was) left\b|\bwhat (?:is|was) left (?:out|over|behind)\b",
        "the rest / the remaining X", "name what is meant",
        "What is left of the text.", "The remaining text.",
    ),
    Phrase(
        r"\b(?:is|are|was|were) what (?:is|are|was|were|it|they|the|an?|each|every)\b",
        "equals / is the X that", "name what is meant",
        "The result is what the GPU gave.", "The result equals the GPU's result.",
    ),
    Phrase(
        r"\bof which (?:all|one|none|each|some|the|it|they|there)\b",
        "whose / , which has", "word order",
        "A chip, of which all is told.", "A chip, described in full.",
        in_names=False,
    ),
    Phrase(
        r"\bso many\b",
        "this many / that many / n", "name the count",
        "Return so many bits.", "Return this many bits.",
    ),
    Phrase(
        r"\b(?:is|are) another\b(?= ?[.,;:)]|$)",
        "differs", "telegram",
        "Where its arithmetic is another, add a row.", "Where its arithmetic differs, add a row.",
        in_names=False,
    ),
    Phrase(
        r"(?<!/)\b(?-i:none) (?:is|are|has|have|was|were|does|do)\b",
        "no X is", "repeat the noun",
        "If none does, all run.", "The directory x/none does not exist.",
    ),
    Phrase(
        r"\b(?:does|do|did|with|gives?|names?) (?-i:none)\b(?! of\b)",
        "does not / has no X", "repeat the noun",
        "A chip that names none is rejected.", "A chip without a name is rejected.",
    ),
    Phrase(
        r"\bso (?:it|they) (?:is|are|was|were) (?:for|with|of|in|too|by)\b|(?-i:(?:^|(?<=\. ))So (?:is|are|does|"
        r"do|has|have) (?![^.\n]*\?))",
        "the same holds for / likewise / also", "inversion",
        "So it is for all rows.", "The same holds for all rows.",
    ),
    Phrase(
        r"\blegal are\b",
        "legal values are / expected", "inversion",
        "Legal are 1, 2 and 4.", "Legal values are 1, 2 and 4.",
    ),
    Phrase(
        r"\b(?:any|every|one|all) from (?=[\d`{x-])",
        "from 0 to N / between", "telegram",
        "Lane 40 is not any from 0 to 31.", "Lane 40 is not in 0 to 31.",
    ),
    Phrase(
        r"(?-i:(?:^|(?<=[.;:] ))(?:Needed|Missing|Refused|Allowed|Given|Named|Read|Written|Left|Left out|Known|"
        r"Listed|Accepted|Kept|Supported|Taken|Meant|Counted) (?:is|are|was|were)\b)",
        "X is needed / X are listed", "inversion",
        "Refused are names of files.", "Names of files are rejected.",
        in_names=False,
    ),
    Phrase(
        r"\bchips? (?:that|which) (?:has|have) (?:it|them|this|the instruction|that|all)\b",
        "chips that support it", "field's term",
        "The first chip that has it is sm_90.", "The first chip that supports it is sm_90.",
    ),
    Phrase(
        r"\bonce more\b|\bone more time\b|\banew\b",
        "again", "one word",
        "The source is compiled once more.", "The source is compiled again.",
    ),
    Phrase(
        r"\bas a rule\b",
        "usually / normally", "idiom",
        "As a rule, it is fast.", "Usually it is fast.",
    ),
    Phrase(
        r"\bfor ?ever\b",
        "indefinitely / without end", "idiom",
        "The thread waits for ever.", "The thread waits indefinitely.",
    ),
    Phrase(
        r"\bin words\b",
        "as text / spelled out", "idiom",
        "Print the layout in words.", "Print the layout as text.",
    ),
    Phrase(
        r"\bin one go\b|\ball at one time\b",
        "at once / in one call", "idiom",
        "All are built in one go.", "All are built at once.",
    ),
    Phrase(
        r"\bbut for\b",
        "except for", "one word",
        "Equal but for the name.", "Equal except for the name.",
    ),
    Phrase(
        r"\b(?:is|are|was) but (?:an?|the|one)\b|\bnothing but\b|\bno \w+ but\b",
        "only", "archaic",
        "One round is but a smoke test.", "One round is only a smoke test.",
    ),
    Phrase(
        r"\bwhole (?:number|multiple)s? of\b|\bnone of whole\b",
        "a multiple of", "field's term",
        "40 threads are a whole number of warps.", "40 threads are not a multiple of the warp size.",
    ),
    Phrase(
        r"\b(?:an?|each|every|two|several|this|that|many|whose) text\b(?! (?:files?|editors?|box(?:es)?|fields?|"
        r"nodes?|mode|format|output|form)\b)(?!-)",
        "string / source / PTX / message / text (without article)", '"text" has no article and no plural',
        "Parse a text of PTX.", "Parse PTX source.",
        in_names=False,
    ),
    Phrase(
        r"(?<!--)\btexts\b(?! =>|\.\w| FOLDER)",
        "strings / sources / messages", '"text" has no plural',
        "It compares two kernels' texts.", "It compares the source of two kernels.",
    ),
    Phrase(
        r"\b(?:lie|lies|look|looks|are|is|compute|computes|treats?|all|both|out|seed|laid out|held|read) alike\b",
        "the same / equally / identically", "Germanism",
        "Chips that compute alike.", "Chips that compute the same.",
    ),
    Phrase(
        r"\bkin\b|\bakin\b",
        "related", "archaic",
        "The f16 units and their kin.", "The f16 units and related units.",
    ),
    Phrase(
        r"\b(?:hence|whence|thereof|therein|thereby|thereupon|hitherto|lest|whereof|wherein|whereby|whereupon|ere|"
        r"thrice|twofold|heed|heeds|yonder|amid|amidst|whilst|amongst)\b",
        "a plain word: so / in it / so that ... not / while / among", "archaic",
        "Save the state, lest it be lost.", "Save the state so that it is not lost.",
    ),
    Phrase(
        r"\bshall\b",
        "must / will", "archaic",
        "The caller shall hold the lock.", "The caller must hold the lock.",
    ),
    Phrase(
        r"\bmay not\b(?! (?:have|be there|know|show))",
        "must not / cannot / might not", '"may not" is ambiguous',
        "A lane may not exit.", "A lane must not exit.",
    ),
    Phrase(
        r"\bblanks?\b(?! (?:lines?|cells?|page))",
        "space / whitespace", "field's term",
        "Tabs become blanks.", "Tabs become spaces.",
    ),
    Phrase(
        r"\bin all\b(?<=[\dx] in all)|\b(?:entries|opcodes|cases|rows|groups) in all\b",
        "in total", "idiom",
        "There are 44 groups in all.", "There are 44 groups in total.",
    ),
    Phrase(
        r", say(?=[.;:)]|$)",
        "for example", "idiom",
        "Pass KOrder(splits=4), say.", "Pass, for example, KOrder(splits=4).",
        in_names=False,
    ),
    Phrase(
        r"(?<!\bstand )(?<!\bstands )\bfor one\b(?=[.,;:)]|$)",
        "for example", "idiom",
        "A register plus a constant, for one.", "For example, a register plus a constant.",
        in_names=False,
    ),
    Phrase(
        r"\bsome (?:\d[\d,.]*|two|three|four|five|six|ten|twelve|twenty|thirty|forty|fifty|sixty|eighty|"
        r"hundred)\b(?! of)",
        "about", "idiom",
        "It takes some 30 bytes.", "It takes about 30 bytes.",
    ),
    Phrase(
        r"\bbe (?:it|they) (?:an?|of|in|the|from|by)\b",
        "whether ... or", "archaic",
        "Any text, be it a name or a number.", "Any text, whether a name or a number.",
    ),
    Phrase(
        r"\bas (?:\S+ ){1,4}?(?:has|have|had) (?:it|them)\b",
        "as in X / as X defines it", "Germanism",
        "Names are spelled as CUTLASS has them.", "Names are spelled as in CUTLASS.",
    ),
    Phrase(
        r"\bh(?:eld|olds?|olding) (?:\S+ ){0,4}?(?:against|up against)\b",
        "compare with / check against", "Germanism",
        "The table is held against the recording.", "The table is compared with the recording.",
    ),
    Phrase(
        r"\bgo(?:es)? by\b",
        "depends on / follows / is set by", "Germanism",
        "Colours go by powers of two.", "Colours depend on powers of two.",
    ),
    Phrase(
        r"\b(?:is|are|was|were) so\b(?=[.,;:)]|$| (?:in|at|for|only|by|too|from|on)\b)",
        "the same holds / this is true", "Germanism",
        "That is so for all chips.", "This holds for all chips.",
        in_names=False,
    ),
    Phrase(
        r"\banother one\b",
        "another X", "repeat the noun",
        "A kernel starts another one.", "A kernel starts another kernel.",
    ),
    Phrase(
        r"\b(?:everybody|everyone|somebody|someone|anybody|anyone)\b(?! (?:who|else))",
        "all threads / a user / another process", "threads are not people",
        "It is known to everyone.", "It is visible to all threads.",
    ),
    Phrase(
        r"\b(?:is|are|was|were) nothing\b(?! (?:to|but|else|that|wrong|more|in))",
        "there is no X / is not an X", "Germanism",
        "Behind the array is nothing.", "There is no memory after the array.",
    ),
    Phrase(
        r"\bfrom (?!now\b|then\b)(?:\S+ ){1,4}?on\b(?=[.,;:)]|$)",
        "starting at / since / onwards", "Germanism",
        "Lanes from 16 on.", "Lanes 16 and higher.",
        in_names=False,
    ),
    Phrase(
        r"\bserv(?:e|es|ed|ing)\b(?! (?:as|the (?:page|site|pages)|http)\b)",
        "execute / process / support", "Germanism",
        "Threads are served in order.", "Threads are executed in order.",
    ),
    Phrase(
        r"\bways? (?:that|which|on which|where|round|around|from|through) (?:leads?|goes|go|nobody|are|is|has|"
        r"have|reach|comes?|there|it)\b|\b(?:on|along|by) (?:a|each|every|all|both|another|some|one|other) ways?\b",
        "path / branch", "field's term",
        "Every way that leads there.", "Every path to the instruction.",
    ),
    Phrase(
        r"\bgo(?:es|ne)? (?:the |an )?(?:same|other|another|one|different|apart) (?:ways?|path)\b|"
        r"\bwent (?:another|the other|one) way\b",
        "take the same / another branch; diverge", "field's term",
        "Lanes go another way.", "Lanes take the other branch.",
    ),
    Phrase(
        r"\b(?:in|of|by|many|few|more|fewer|\d+) letters\b(?! (?:a|b|c)\b)",
        "characters", "field's term",
        "The width of a name in letters.", "The width of a name in characters.",
    ),
    Phrase(
        r"\b(?:is|are|was|were) of (?:an?|the|this|that|its|their|another|one|no|several|all|each|every|some|"
        r"which)\b(?! (?:\w+ )?(?:same|kind|type|form|size|shape|order|length|width))",
        "belongs to / has / applies to / concerns", "Germanism",
        "The counter is of the warp.", "The counter belongs to the warp.",
    ),
    Phrase(
        r"\bnothing of (?:it|that|this|them|the|what|"
        r"others)\b",
        "no part of / none of", "telegram",
        "Nothing of it is read.", "No part of it is read.",
    ),
    Phrase(
        r"\b(?:has|have|had|with|finds?|keeps?|takes?|reads?|writes?|shows?|holds?|needs?|sees?|leaves?|"
        r"gets?) what (?:it|they|is|was|are|were|others?)\b",
        "the X that", "name what is meant",
        "The store writes what it holds.", "The store writes the held value.",
    ),
    Phrase(
        r"\b(?:by|with) (?:its|their) (?:letters?|digits?)\b|\bby the letter\b",
        "literally / by name", "Germanism",
        "True by the letter.", "Literally true.",
    ),
    Phrase(
        r"\b(?:is|are|was|were) (?:met|come upon|come by)\b|\bcome(?:s)? (?:by|upon)\b",
        "is encountered / is executed / is reached", "field's term",
        "The barrier is met at two lines.", "The barrier is executed at two lines.",
    ),
    Phrase(
        r"\bthe one (?:of|for) (?:an?|the|each|every|all)\b",
        "the X of / 's", "repeat the noun",
        "The name is the one of the file.", "The name is the file's name.",
    ),
    Phrase(
        r"\b(?:as far as (?:it|they|that|this) (?:is|are|can|goes)|inasmuch as|insofar as|in so far as)\b",
        "if / where / up to / to the extent that", "vague",
        "The source is given as far as it is known.", "The source is given where it is known.",
    ),
    Phrase(
        r"\b(?:out|forth) of (?:it|them|these|which) (?:come|comes|is|are)\b|\bcomes? out (?:as|of|the)\b",
        "results in / is produced by", "Germanism",
        "Zero comes out as -0.", "Zero becomes -0.",
    ),
    Phrase(
        r"\b(?:is|are|was|were) said (?:of|by|where|there|here|in|as|once|with|about)\b|\bnothing is said\b|"
        r"\bwhat is said\b",
        "is stated / is reported / is documented / the description of", "telegram",
        "What is said of a race is in the report.", "The report describes each race.",
    ),
    Phrase(
        r"\bsays? (?:of|about) (?:an?|the|it|them|each|every|one)\b|\bsays? (?:nothing|something) of\b|\b(?:say|"
        r"tell) what becomes\b",
        "describe / state / report for", "one verb",
        "The page says nothing of sm_70.", "The page does not cover sm_70.",
    ),
    Phrase(
        r"(?-i:(?:^|(?<=[.;:] ))Of (?!course\b|these\b|those\b|\d)(?=\w))",
        "begin with the subject: X's Y / For X, ...", "inversion",
        "Of a vector, the address is returned.", "For a vector, the address is returned.",
        in_names=False,
    ),
    Phrase(
        r"\b(?:is|are|was|were) (?:theirs|his|hers)\b|\bis its(?=[.,;:)]|$)",
        "belongs to X", "repeat the noun",
        "The dtype is theirs.", "The dtype belongs to the library.",
    ),
    Phrase(
        r"\b(?:taken|reads?|left|kept|stays?|copied|compiled|files|written|passed|said|remains?) "
        r"as (?:it is|they are)\b(?=[.,;:)]|$| and| but)",
        "unchanged / as is / verbatim", "Germanism",
        "The script stays as it is.", "The script is unchanged.",
    ),
    Phrase(
        r"(?-i:(?:^|(?<=[.;:] ))(?:By|In|From|With|For|To|Through|At|On) wh(?:at|ich|om)\b)(?! reason|[^.\n]*\?)",
        "a sentence with a subject and a verb: The X that ...", "telegram",
        "In which order a kernel adds.", "The order in which a kernel adds.",
        in_names=False,
    ),
]  # fmt: skip

COMPILED = [Compiled(phrase) for phrase in PHRASES]
