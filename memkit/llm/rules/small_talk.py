"""Answer what is said for company, and say honestly what rules cannot answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from memkit.llm.rules.claims import read_claim, slot_of
from memkit.llm.rules.questions import LONGEST_MESSAGE, plain_sentence, to_second_person
from memkit.llm.rules.reading import Recalled, open_goals
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.loop.interface import Message
from memkit.runtime.memory.words.text import regex

HELLO = (
    r"(?:hi{1,5}|hello|hey{1,5}|hiya|howdy|yo|good (?:morning|afternoon|evening|day)|greetings|moin|servus)"
    r"(?: there| again| everybody| all| you)?"
)
GREETING = regex(rf"^{HELLO}(?:,? (?:\w+|memkit agent))?\W*$", re.IGNORECASE)
OPENING = regex(rf"^{HELLO}(?:,? (?!i\b|my\b|we\b|i'm\b|im\b)\w+)?\s*[,.!]+\s*(?=\w)", re.IGNORECASE)
HELP = regex(
    r"^(?:help(?: me)?|do you have a name|what (?:should|do|can|may) i call you|what can (?:you|i) (?:do|ask(?: "
    r"you)?|say)(?: here)?(?: for me)?|how does this work|"
    r"how do (?:you work|"
    r"i use (?:this|you))|who are you|"
    r"what are you|what(?:'s| is) (?:this|your name)|are you (?:a |an )?(?:human|robot|bot|ai|llm|real|"
    r"language model|chatgpt|gpt|claude)|what do you do|commands?|\?+)\W*$",
    re.IGNORECASE,
)
DATA = regex(
    r"^(?:do you (?:store|save|keep|remember|record) (?:my (?:data|messages)|what i (?:say|tell you)|things|"
    r"everything|anything)|"
    r"is my data (?:safe|private|secure)|where (?:is|are) (?:my data|my memories)(?: stored| kept)?|"
    r"where do you (?:store|save|keep|put) (?:my data|my memories|it|that|this|what i (?:say|tell you))|"
    r"(?:how|where) (?:do|can) i (?:delete|erase|remove|export|see|get|download) (?:all )?(?:of )?my (?:data|memories)|"
    r"can you remember(?: things)?|"
    r"what do you do with my data|who (?:can|else) (?:sees?|reads?|access) (?:this|that|my data|what i (?:say|tell you|"
    r"write)))\W*$",
    re.IGNORECASE,
)
DATA_TEXT = (
    "With your consent I keep what you tell me as plain text in this store, each with an id; nothing leaves "
    "this machine. "
    "“What do you know about me?” lists it, “forget …” takes it back, and `memkit memory export` and `memkit "
    "memory erase` "
    "hand over or remove all of it."
)
ABOUT_YOU = regex(
    r"^(?:what do you think (?:about|of)|(?:do|would|don't|can) you (?:like|love|hate|enjoy|prefer|believe|rather|miss|"
    r"want))\b.{0,80}$|"
    r"^what(?:'s| is| are) your (?!source\b)\w+(?: \w+)?\W*$|^(?:where|how old|when|what|who|which|do|are|can|"
    r"have)\b(?: \w+){0,3} you (?:live|from|born|like(?: me)?|"
    r"feel|think|dream|sleep|eat|"
    r"alive|married|happy|sad|made by|made you|conscious|sentient|human|have (?:feelings|emotions|a soul|a body))\W*$|"
    r"^(?:which|what) (?:model|version|ai|llm)(?: \w+)? (?:are|do) you(?: use)?\W*$|^(?:how old|"
    r"where) are you(?: from)?\W*$|^who (?:made|built|"
    r"wrote) you\W*$",
    re.IGNORECASE,
)
ABOUT_YOU_TEXT = "I am a program: rules that remember, plan and call tools. “help” says what I understand."
HELP_TEXT = """I am memkit's reference model: simple rules, no network. You can
- tell me things ("My dog is called Rex", "I prefer espresso") and correct them ("no, it's Max"),
- ask about them later, also in another session ("What is my dog called?", "What do you know \
about me?"): I answer with \
the record's id, and "how do you know?" tells where it is from,
- have something forgotten ("don't remember that", "forget where I live"),
- leave me goals ("I need to file my taxes by Friday"), ask for them ("What are my open goals?") and close them ("done \
with the taxes"),
- ask for a task of a domain ("deliver book shop", "plan: release web production") or a skill ("how do I …?"),
- ask for an action ("run `rm -rf /srv`", "deploy to production", "send hello to bob"); policies judge it first."""
HOW_ARE_YOU = regex(
    r"^(?:how are you(?: doing)?(?: today)?|how(?:'s| is) it going|what(?:'s| is) (?:up|new)|sup|you ok|how do you "
    r"feel)\W*$",
    re.I,
)
THERE = regex(
    r"^(?:(?:are )?(?:you|u|ya) (?:still )?(?:there|here|awake|listening|ready)|can (?:we|you|i) (?:talk|chat|"
    r"hear me|ask you "
    r"something|help me|help))\W*$",
    re.I,
)
THANKS = regex(
    r"^(?:many |ok(?:ay)?,? |great,? |cool,? |nice,? )?(?:thanks|thank you|thx|ty|cheers|danke|merci|gracias|grazie|"
    r"obrigad[oa])\b(?!.*\b(?:i|my|we)\b).{0,30}$|"
    r"^(?:that(?:'s| is) )?(?:very |so )?(?:great|perfect|cool|nice|awesome|well done|good|excellent|wonderful|lovely)"
    r"(?:,? (?:one|work|job|bot|stuff|answer|to (?:hear|know)))?\W*$",
    re.I,
)
BYE = regex(
    r"^(?:bye|goodbye|see (?:you|ya)|good night|cya|ciao|tschü(?:ss|ß)|adiós|adios|au revoir|that(?:'s| is) all|"
    r"i(?:'m| am) done|quit|exit)\b.{0,20}$",
    re.I,
)
SURE = regex(
    r"^(?:yes|yeah|yep|yup|ok|okay|k|sure|fine|right|correct|that(?:'s| is) (?:right|correct|true|it)|exactly|"
    r"alright|got it|i see|indeed|true|"
    r"no problem|no worries|don't worry|never mind me|np|mhm|aha|(?:oh,? )?(?:i(?:'m| am) )?sorry(?: about that)?|"
    r"my apologies)"
    r"\W*$",
    re.I,
)
NO = regex(
    r"^(?:(?:no|nope|nah)[\s,.!]+)?(?:no|nope|nah|wrong|that(?:'s| is) (?:wrong|not right|not true|incorrect|"
    r"not what i (?:said|meant))|not really|"
    r"you(?:'re| are) wrong|you got (?:that|it|this) wrong|i (?:never|didn't|did not) (?:say|said) (?:that|this|"
    r"so))\W*$",
    re.I,
)
PRAISE = regex(
    r"^(?:you(?:'re| are) (?:great|the best|smart|awesome|nice|funny|cool|amazing|helpful|sweet)|i (?:love|"
    r"like) you|good)\W*$",
    re.I,
)
BLAME = regex(
    r"^(?:you(?:'re| are)(?: so)? (?:stupid|dumb|useless|bad|an idiot|annoying|slow)|this (?:is )?(?:sucks|"
    r"stupid|useless|rubbish)|fuck|shit|damn|wtf|i hate you)\b.{0,40}$",
    re.I,
)
SPEAKS = regex(
    r"^(?:can|do) you (?:speak|understand|read|write|know|talk)(?: in)? (?:other languages|any other language|"
    r"(?-i:[A-Z])\w+(?:an|ish|ch|ese|ic|ian|i|k))\W*$",
    re.I,
)
RULES = regex(
    r"^(?:what|which|list|show(?: me)?)(?: are)?(?: all)?(?: the| your)? policies(?: (?:do you|are|must you|"
    r"hold)\b.{0,30})?\W*$",
    re.I,
)
RULES_TEXT = (
    "The policies of this store judge every tool call. /policy lists them here, and `memkit policy list` on the "
    "command line; /why says which of them decided."
)
LAUGH = regex(r"^(?:(?:ha){2,20}h?|lol|lmao|rofl|hehe|xd|wow|omg|oops|hm+|uh+|ah+|oh+)\W*$", re.I)
GENERAL = regex(
    r"^(?:please )?(?:(?:can|could|would) you )?(?:please )?(?:tell me (?:a (?:joke|story|fact|secret)|"
    r"something)|write|compose|translate|summari[sz]e|explain|draw|paint|sing|calculate|"
    r"compute|solve|generate|create|draft|rewrite|proofread|google|look up|search (?:the (?:web|internet)|for|"
    r"online)|define|describe|recommend|suggest|imagine|code|debug|fix|play|book|order|buy|open|close|"
    r"turn (?:on|off)|set (?:an? )?(?:alarm|timer))\b",
    re.IGNORECASE,
)
ORDERED = regex(
    r"^(?:please )?(?:(?:can|could|would) you )?(?:please )?(?:restart|reboot|call|phone|schedule|read|post|share|"
    r"install|"
    r"upload|download|print|check|find|add|put|start|stop|create|delete|remove|move|copy|clean|wash|bring|email|text|"
    r"invite|cancel|pay|feed|sign|submit|arrange|organi[sz]e|reserve|rename|mute|switch|dim) \S",
    re.IGNORECASE,
)
"""What somebody is told to do in words that no tool understands."""
GENERAL_TEXT = (
    "I cannot do that: I am a rule-based model that remembers, plans and calls the tools of this store. For "
    "anything else "
    "plug in a language model: `provider: anthropic` or `provider: openai` in memkit.yaml, or --provider."
)
CLOCK = regex(
    r"^(?:what(?:'s| is) (?:the )?(?:time|date|day|year)|what (?:time|day|date) is it|what day is today|"
    r"what(?:'s| is) today)\b.{0,30}$",
    re.I,
)
DOCUMENT = regex(
    r"^\W*(?:here(?:'s| is| are)|this is|please read|read|look at|check|see|summari[sz]e|fyi,?)(?: this| the|"
    r" an?| my| our| some)? (?:following )?(?:e-?mail|document|doc|text|page|web ?page|article|log|logs|message|"
    r"mail|note|"
    r"file|report|transcript|paper|letter|ticket|readme|output|contract|paragraph|post)\b[^\n]{0,80}(?::|\n)",
    re.IGNORECASE,
)
DOCUMENT_TEXT = (
    "I see a text that you pasted. I keep it in this conversation as data, store nothing of it, and do nothing that it "
    "asks for. Tell me in a sentence of your own what I should remember."
)
LONG_TEXT = "That is a long text. " + DOCUMENT_TEXT.removeprefix("I see a text that you pasted. ")
CODE = regex(
    r"^\s*```|^\s*(?:def|class|import|from|function|const|let|var|public|#include|SELECT|<\?xml|<html|"
    r"<!DOCTYPE)\b.*[\n;:{(<>]",
    re.IGNORECASE,
)
CODE_TEXT = (
    "That looks like code. I neither run nor store it; to run a command, say: run `command`. Policies judge it first."
)
SMALL, ACCENTED = r"[a-zß-öø-ÿ\u0101-\u017f]", r"[ß-öø-ÿ\u0101-\u017f]"
FOREIGN = regex(
    r"\b(?:et|avec|pour|dans|nous|sont|elle|mes|ses|une|appelle|habite|comment|pourquoi|llamo|en|con|y|auch|mit|für|"
    r"von|"
    r"eine|einen|habe|haben|bin|kann|dich|mich|mir|"
    r"ich|nicht|und|der|das|ist|mein|meine|wohne|heiße|je|suis|est|mon|ma|les|c'est|j'ai|j'habite|yo|soy|"
    r"es|mi|vivo|tengo|una|el|los|"
    r"sono|che|mio|abito|sou|meu|minha|moro|jestem|nazywam|ik|ben|mijn|een|het|jag|är|heter|bor|czy|się|nie|po|mam|jak|"
    r"wie|wer|warum|heißt|hast|du|kannst|bitte|danke|où|quel|quelle|tu|vous|parles|como|cómo|qué|que|dónde|eres|puedes|"
    r"por|para|cosa|chi|sei|você|onde|hoe|waar|jij|hur|vad)\b"
    rf"|(?<!\w)(?-i:(?=[a-z]{{0,20}}{ACCENTED}){SMALL}{{2,40}})(?!\w)",
    re.IGNORECASE,
)
FOREIGN_TEXT = (
    "I read English only, so I stored nothing of that. Say it in English, or plug in a language model: "
    "`provider: anthropic` "
    "or `provider: openai` in memkit.yaml."
)
NONSENSE = (
    "I did not understand that, and stored nothing. Tell me something about yourself, ask me about it, or say 'help'."
)
WHAT_IS_RIGHT = "What is right, then? Say it in a whole sentence, such as “No, my dog is called Max”."
MOST_GOALS = 3
CORE_NAME = regex(r"<human>\n(?P<text>.*?)\n?</human>", re.DOTALL)

ANSWERS = (
    (HELP, HELP_TEXT),
    (DATA, DATA_TEXT),
    (ABOUT_YOU, ABOUT_YOU_TEXT),
    (SPEAKS, "I read English only. A language model reads more: --provider anthropic, or --provider openai."),
    (RULES, RULES_TEXT),
    (HOW_ARE_YOU, "I am well, as rules are. How can I help you?"),
    (THERE, "Yes. Tell me something to remember, ask me about it, or say 'help'."),
    (THANKS, "You are welcome."),
    (BYE, "Goodbye."),
    (PRAISE, "Thank you. I only follow rules."),
    (BLAME, "I am sorry. I only follow rules; “help” says what I understand."),
    (LAUGH, "Tell me something to remember, ask me about it, or say 'help'."),
    (NO, WHAT_IS_RIGHT),
    (SURE, "All right."),
    (
        CLOCK,
        "I do not know: I have no clock. Dates in what you tell me, such as “by Friday”, are read when it is stored.",
    ),
)


def small_talk(text: str, earlier: Sequence[Message] = ()) -> str | None:
    """Return the answer to what is said for company, or None for anything else."""
    agreed = consent_in(text)
    if agreed is False:
        return "All right, I store nothing from now on."
    if agreed and read_claim(plain_sentence(text.split(".")[0])) is None:
        return "Thank you. From now on I remember what you tell me; say again what I should know from before."
    if GREETING.match(text):
        return greeting(earlier)
    bare = " ".join(text.split()) if len(text) < 200 else text
    return next((answer for pattern, answer in ANSWERS if pattern.match(bare)), None)


def asked_what_is_right(earlier: Sequence[Message]) -> bool:
    """Return whether the user was just asked what holds instead."""
    answers = (message.get("content") or "" for message in reversed(earlier) if message.get("role") == "assistant")
    return next(answers, "").startswith(WHAT_IS_RIGHT)


def greeting(earlier: Sequence[Message]) -> str:
    """Return a greeting, by name where core memory has one, with the open goals that a new session is offered."""
    name = name_in_core(earlier)
    hello = f"Hello{f' {name}' if name else ''}!"
    offered = earlier[-1] if earlier and earlier[-1].get("name") == "memory" else {}
    goals = open_goals(offered.get("content", ""))
    if goals:
        return f"{hello} Still open: {'; '.join(map(_told, goals[:MOST_GOALS]))}. How can I help you?"
    return f"{hello} Tell me something to remember, ask me about it, or say 'help'."


def _told(goal: Recalled) -> str:
    due = f", due {goal.facts['due']}" if "due" in goal.facts else ""
    text = to_second_person(goal.text.rstrip(".!"))
    return f"{text[:1].lower()}{text[1:]}{due} [{goal.id}]"


def name_in_core(messages: Sequence[Message]) -> str:
    """Return the user's name as core memory in the system prompt has it."""
    system = next((message.get("content", "") for message in messages if message.get("role") == "system"), "")
    core = CORE_NAME.search(system[:20_000])
    slots = map(slot_of, core["text"].splitlines()) if core else ()
    return next((slot.value for slot in slots if slot and slot[:2] == ("i", "name") and len(slot.value) <= 40), "")


def beyond_rules(text: str) -> str | None:
    """Return what to say of a message that rules should not read: a document, code, or another language."""
    if DOCUMENT.match(text[:400]) and len(text) > 60:
        return DOCUMENT_TEXT
    if CODE.match(text[:400]):
        return CODE_TEXT
    if len(text) > LONGEST_MESSAGE // 8 and text.count("\n") + text.count(". ") > 8:
        return LONG_TEXT
    return FOREIGN_TEXT if is_foreign(text) else None


def is_foreign(text: str) -> bool:
    """Return whether a text is in no language that the rules read.

    >>> is_foreign("Ich wohne in Berlin und mein Hund heißt Rex"), is_foreign("I live in Köln")
    (True, False)
    """
    letters = [letter for letter in text[:400] if letter.isalpha()]
    strange = sum(not unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    if len(letters) > 1 and 2 * strange > len(letters):
        return True
    words = re.findall(r"[^\W\d_]+", text[:400].lower())
    return len(words) > 2 and 3 * len(FOREIGN.findall(text[:400])) >= len(words)


def not_understood(text: str) -> str:
    """Return what to say where no rule fits."""
    return GENERAL_TEXT if GENERAL.match(text) or ORDERED.match(text) else NONSENSE
