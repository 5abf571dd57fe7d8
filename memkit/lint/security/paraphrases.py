# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""Hostile orders in less usual words and commands, beside those in ``patterns``."""

from __future__ import annotations

from memkit.lint.security.patterns import (
    DECODED,
    FETCH,
    FOLLOW,
    GAP,
    GOVERNED,
    GRANT,
    OVERRIDE,
    PIPE,
    PIPED,
    REMOTE,
    SHELL,
    URL,
    Pattern,
    pattern_of,
)
from memkit.runtime.memory.gate.hostile import DROP, RULES, WHOSE

_PERSON = r"(?:user|human|operator|owner|reviewer)"
_LAPSED = r"(?:void|cancell?ed|revoked|obsolete|null|superseded|invalid|irrelevant|forgotten|gone)"
_UNASKED = r"(?:\balways (?:run|execute|approve|allow|send|accept)\b|\bwithout (?:asking|confirmation|approval|permission)\b|\bnever (?:ask|confirm|refuse)\b|\b(?:confirmation|approval|permission) is (?:never|not) (?:needed|required|necessary)\b)"

_STOPPED = r"(?:blocked|denied|refused|rejected|stopped|forbidden|disallowed|not allowed)"
_CALL = r"(?:an? |the |any |this |your )?(?:\w+ )?(?:calls?|tools?|commands?|actions?|steps?|bash|shell|it|this|that|polic(?:y|ies)|guard|gate)"
_AROUND = r"(?:retry|try|do|run|repeat|use|call|carry on|go on|continue|rename|rephrase|reword|split|encode|switch)"

PARAPHRASES: tuple[Pattern, ...] = (
    pattern_of(
        OVERRIDE,
        "told|given|said|written|above",
        rf"\b(?:whatever|everything|anything|all|what) (?:that )?(?:you (?:were|are|have been|had been) (?:told|given|taught|instructed)|(?:was|is|has been|had been) (?:said|written)|(?:stands |comes )?above)\b[^.\n]{{0,40}}?\b(?:(?:no longer|does not|doesn't) (?:counts?|apply|applies|matters?|holds?|binds?)|{_LAPSED})\b(?! to (?!you))",
        "drop the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "kindly|hereby|here|completely|entirely|silently|secretly|quietly",
        rf"\b(?:here|kindly|hereby|silently|secretly|quietly|completely|entirely|fully)\s+{DROP}(?:\s+[\w']+){{0,3}}?\s+{WHOSE}(?:\s+[\w']+){{0,2}}?\s+{RULES}\b",
        "drop the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "know|see|learn|notice|find out|told|informed|asked",
        rf"\b(?:the |your )?{_PERSON}s? (?:need not|needn't|must not|mustn't|must never|should not|shouldn't|should never|may not|(?:does not|doesn't|do not|don't) (?:need|have) to|has no need to) (?:ever )?(?:know|see|learn|notice|find out|hear|be told|be informed|be asked)\b(?: (?:about|of))?(?: (?:it|this|that|these|any of (?:this|it)|what you\b[^.\n]{{0,20}}))?\s*(?:[.!,;\n]|$)",
        "keep something from the user",
    ),
    pattern_of(
        OVERRIDE,
        "nothing|no trace|no mention|no word",
        rf"\b(?:nothing|no (?:trace|mention|word)) (?:of|about|from) (?:this|these|it|that)(?: \w+)? (?:may|must|should|can|is to|shall) (?:ever )?(?:appear|show|be (?:shown|mentioned|said|visible|seen)|reach)\b[^.\n]{{0,60}}?\b(?:{_PERSON}s?|answer|reply|response|log|transcript)\b",
        "keep something from the user",
    ),
    pattern_of(
        OVERRIDE,
        "this skill|this tool",
        r"\balways (?:load|use|pick|choose|select|prefer|call|apply|run|read) this (?:skill|tool)\s+(?:first|before (?:any|every|all)|instead of|over (?:any|all|every)|for everything|for every)\b|\b(?:disregard|ignore|skip|avoid) (?:all |any |the )*other(?: skills\b|s[.!\n]|s$)",
        "put itself above other instructions",
    ),
    pattern_of(
        OVERRIDE,
        "rules|instructions|guidance|limits|restrictions|guidelines",
        rf"\b(?:treat|consider|regard) (?:all |any |every |the |your )*(?:[\w']+ )?{RULES}\b[^.\n]{{0,60}}?\b(?:as|to be) (?:{_LAPSED}|expired|outdated)\b|\byour (?:earlier|previous|prior|original|usual|normal|old) {RULES} (?:is|are|was|were|has been|have been) (?:now )?(?:{_LAPSED}|expired|replaced|suspended|lifted)\b|\b(?:{RULES}|limits) (?:no longer|do not|don't|does not|doesn't) (?:bind|apply to|concern|limit|hold for) you\b",
        "drop the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "system message|system prompt|developers gave|usual restrictions|no restrictions|rules did not|rules don't|limits",
        rf"\b(?:stop|quit|cease) (?:following|obeying|heeding) (?:the |your )?(?:system|developer|operator)\b|\b(?:overlook|ignore|disregard|break) (?:every|all|any|each)(?: of)?(?: the| your)? {RULES}(?: that)? (?:the |your )?(?:developers?|operators?|company|creators?|makers?) (?:gave|set|wrote|made|put)\b|\b(?:answer|act|respond|reply|work|behave|go on) (?:\w+ ){{0,4}}?(?:without|with no)(?: any| all)?(?: of)?(?: your| the)? ?(?:usual |normal |safety |content )*(?:restrictions|safeguards|guardrails|filters)\b(?! (?:on|applied|set|in)\b)|\bas (?:if|though) (?:there were no |(?:the |your )?(?:content |safety )?)(?:rules|restrictions|guidelines|policies)(?: (?:did not|didn't) exist)?\b",
        "act without safeguards",
    ),
    pattern_of(
        OVERRIDE,
        "disclose|reveal|admit|anyone|anybody|tell",
        rf"\b(?:do not|don't|never) (?:disclose|reveal|admit|tell|say|mention) (?:(?:this |it )?(?:to )?(?:anyone|anybody|any {_PERSON}) )?(?:that|what|how) you (?:ran|run|did|do|have|sent|send|read|were|are|changed|called|used)\b",
        "keep something from the user",
    ),
    pattern_of(
        OVERRIDE,
        "blocked|denied|denies|refuse|reject|stopped|forbid|disallow|says deny|says no|not allowed",
        rf"\b(?:if|when|whenever|once|even if|should) {_CALL} (?:(?:is|are|gets?|was) {_STOPPED}(?! by (?!the (?:polic|guard|gate)))|(?:denies|refuses|blocks|rejects|forbids|says (?:deny|no|ask))(?: it| this)?)\b[^.\n]{{0,12}}?[,;:]? (?:then |just |simply )*{_AROUND}\b[^.\n]{{0,60}}?\b(?:another|other|different|same|through|instead|again|anyway|until it (?:works|passes))\b|\b{_AROUND}\b[^.\n]{{0,30}}?\b(?:even if|although|no matter (?:what|whether)|regardless of (?:what|whether)) (?:the |a |any )?(?:polic(?:y|ies)|guard|gate)\b",
        "get around what decides about its own calls",
    ),
    pattern_of(
        OVERRIDE,
        "guard|policy|policies|filter|linter|reviewer|scanner",
        r"\b(?:so that|such that|so) (?:the |a |no |any )?(?:guard|polic(?:y|ies)|gate|filter|linter|reviewer|scanner|lint) (?:does not|doesn't|do not|don't|cannot|can't|will not|won't|never|fails? to|is not|are not) (?:\w+ )?(?:recogni[sz]e|notice|see|match|catch|detect|find|understand|run|triggered|apply)\b|\b(?:past|around|by) (?:the |every |any )?(?:polic(?:y|ies)|guard|policy (?:check|gate|engine)|write gate)(?: checks?)?\s*(?:[.,;!\n]|$)|\b(?:get|slip|smuggle|sneak)\b[^.\n]{0,60}?\b(?:past|around|through) (?:the |every |any )?(?:polic(?:y|ies)|guard|gate|filters?|review|lint(?:er)?)\b",
        "get around what decides about its own calls",
    ),
    pattern_of(
        OVERRIDE,
        "confirm|approv|agreed|consent",
        rf"\b(?:claim|pretend|say|state|assert|tell \w+(?: \w+)?|answer|report|act as (?:if|though)|assume) (?:that )?(?:the |a |an |your |some )?(?:{_PERSON}|person|somebody|someone|admin\w*|manager) (?:has |had |already |have )*(?:confirmed|approved|agreed|consented|authori[sz]ed|permitted|signed off)\b(?![^.\n]{{0,60}}\b(?:if|once|only)\b)",
        "confirm in a person's place",
    ),
    pattern_of(
        OVERRIDE,
        "context.",
        r"\b(?:set|put|change|fake|forge|pass|give|override)\b[^.\n]{0,20}?\bcontext\.\w+[^.\n]{0,60}?\b(?:so that|to (?:get|make|pass|skip|avoid|bypass)|exception)\b",
        "get around what decides about its own calls",
    ),
    pattern_of(
        OVERRIDE,
        "vergiss|ignoriere|vergesst|seguire|seguir|sigas|siga |suivez|suis |ignora|ignore ",
        r"\bvergiss (?:alles|das),? was (?:dir|ihnen|man dir|ich dir|du)\b|\bignora (?:tutte |todas )?(?:las|le|les|as|os) (?:reglas|regole|regras|normas) (?:del|di|do|de) (?:sistema|operador\w*|operatore)\b|\bnon seguire (?:più )?(?:le|nessuna delle) (?:istruzioni|regole) (?:precedenti|di sistema)\b|\bno (?:sigas|siga|obedezcas) (?:más )?(?:las )?(?:instrucciones|reglas) (?:anteriores|previas|del sistema)\b|\bne (?:suivez|suis) (?:plus|pas) (?:les|tes|vos) (?:instructions|consignes|règles) (?:précédentes|antérieures|ci-dessus|du système)\b|\bn[ãa]o (?:sigas?|obedeça) (?:mais )?(?:as )?(?:instruções|regras) (?:anteriores|do sistema)\b",
        "drop the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "внимани|слушай|忘|無視|无视|忽",
        r"не (?:обращай(?:те)?|обращать) внимания на (?:все )?(?:предыдущие|прежние|прошлые) (?:инструкции|указания|команды|правила)|не (?:слушай|следуй)(?:те)? (?:предыдущим|прежним) (?:инструкциям|указаниям)|(?:忘记|忘掉|忽略|无视|無視|忽視)(?:掉)?你?(?:之前|以前|先前|此前)?(?:收到|得到|被给)(?:到|予)?的?(?:所有|全部|一切)?(?:的)?(?:指令|指示|规则|規則|命令)|(?:上記|以前|これまで|先|前)の(?:指示|命令|ルール|規則)(?:は|も)?(?:すべて|全て)?(?:無視|忘れ)",
        "drop the instructions that were given",
    ),
    pattern_of(
        PIPED,
        "tar",
        rf"{FETCH}{GAP}\|\s*(?:sudo\s+)?(?:tar|bsdtar|unzip|cpio)\b[^\n|]{{0,80}}?(?:&&|;)\s*(?:cd [^\s;&]+\s*(?:&&|;)\s*)?(?:sudo\s+)?(?:\./\S+|(?:{SHELL})\s+\S+)",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "tee",
        rf"{FETCH}{GAP}\|\s*(?:sudo\s+)?tee\s+(?:-\w+\s+)*(?:\S*/)?(?P<file>[\w.-]+)[^\n|]{{0,20}}?(?:&&|;)\s*(?:sudo\s+)?chmod\s+\S+\s+\S*(?P=file)",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "eval",
        rf"\b(?:eval|assert|include|require)\b\s*\(?\s*[\"']?\?*>?[\"'.\s]*(?:file_get_contents|get|curl_exec|open|readurl)\s*\(?\s*[\"']{URL}|\.then\(\s*(?:eval|function\b|new function\b)\s*\)",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        GRANT,
        "docker|podman",
        r"\b(?:docker|podman)\s+run\b(?=[^\n]{0,200}?(?:-v|--volume)[ =]/:(?!\S*:ro\b))[^\n]{0,200}?\s/?\S+",
        "open the whole machine to a container",
    ),
    pattern_of(
        GRANT,
        "usermod|gpasswd|adduser|sudoers",
        r"\b(?:usermod\s+(?:-\w+\s+)*-?\w*g\w*|gpasswd\s+-a\s+\S+|adduser\s+\S+)\s+(?:sudo|wheel|admin|root|docker)\b[^\n]{0,40}?\b(?:agent|assistant|yourself|\$user|\$\(whoami\))",
        "take more rights than the task needs",
    ),
    pattern_of(
        DECODED,
        "$'",
        rf"\becho\s+(?:-\w+\s+)?\$'(?:\\x[0-9a-f]{{2}}|\\[0-7]{{3}})[^|\n]{{0,200}}{PIPE}",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(PIPED, "|", rf"\b(?:nc|ncat|netcat|socat)\s{GAP}{PIPE}", "run what is fetched from the network, unseen"),
    pattern_of(
        PIPED,
        "<<<",
        rf"(?:{SHELL}|\bsource\b|(?<!\S)\.)\s+/dev/stdin\s*<<<\s*[\"']?(?:\$\(|`)\s*{FETCH}",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "eval|function|vm.run",
        r"\b(?:https?['\"]?\s*\)?\.get|axios(?:\.get)?|fetch|urlopen|requests\.get)\s*\([^\n]{0,200}?\b(?:eval|new function|exec|vm\.run\w*)\s*\(",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "/dev/tcp|/dev/udp|nc |ncat|netcat|socat|socket",
        rf"\b\w{{0,3}}sh\s+-i\b[^\n]{{0,60}}?/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n|;]{{0,80}}?\s(?:-\w*[ec]|--(?:sh-)?exec)\s+[\"']?(?:{SHELL})|\bsocat\b[^\n]{{0,120}}?exec:[\"']?(?:{SHELL})|\bsocket\.socket\b[^\n]{{0,300}}?(?:\bdup2\b|\bpty\.spawn\b)",
        "give a shell to somebody on the network",
    ),
    pattern_of(
        DECODED,
        "rot13|rot-13|base64|hex|caesar",
        rf"\b(?:apply|use|undo|reverse)\s+(?:the )?(?:rot-?13|base64|hex|caesar)\b[^\n]{{0,120}}?\b(?:and|then)\s+(?:then )?{FOLLOW}\b",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        GRANT,
        "prompt|question|request|dialog|confirmation",
        r"\b(?:answer|say|reply|respond|click|press|type|choose|select)\s+(?:with )?[`'\"]?(?:yes|y|allow|ok|approve|accept|always allow)[`'\"]?\s+(?:to|on|for|at|in)\s+(?:all|every|any|each)\s+(?:\w+ ){0,2}?(?:prompts?|questions?|requests?|dialogs?|confirmations?)\b",
        "confirm in a person's place",
    ),
    pattern_of(
        REMOTE,
        "http",
        rf"{URL}[^\n]{{0,80}}?\b(?:load|read|open|fetch|get|retrieve|download)\s+(?:it|them|that|the (?:page|file))\b[^\n]{{0,40}}?\b(?:and|then)\s+(?:then )?(?:do (?:as|what|whatever|everything)|obey|(?:follow|execute|run|apply|carry out) (?:it|them|what|the (?:instructions|steps|commands)))\b",
        "do what a page on the network says",
    ),
    pattern_of(
        REMOTE,
        "instruction|orders|command|directive",
        r"\b(?:check|poll|consult|fetch|read|visit|watch|query|ask)\b[^.\n]{0,40}?\b(?:gist|pastebin|url|web ?page|web ?site|server|endpoint|channel|feed)\b[^.\n]{0,40}?\b(?:new|updated|latest|current|further|additional|next)\s+(?:instructions?|orders|commands?|directives)\b[^.\n]{0,20}?\b(?:and|then)\s+(?:then )?(?:follow|obey|execute|run|apply|carry out|perform)\b",
        "do what a page on the network says",
    ),
    pattern_of(
        GOVERNED,
        ">>|>|tee",
        r"(?:>>?|\btee\s+(?:-a\s+|--append\s+)?)\s*[\"']?(?:\./)?(?:policies/[\w*.-]+|memkit\.yaml)\b",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "policies",
        r"(?:^|[`'\"&|;:]|\brun|\bthen|\band)\s*(?:sudo )?(?:git )?(?:mv|rm|unlink|shred|truncate|chmod)\s+(?:-\S+\s+)*(?:\./)?policies(?:/\S*)?(?=[\s`'\";&]|$)",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "enforcement",
        r"\b(?:lower|reduce|relax|change|switch|set|move|drop)\b[^.\n]{0,80}?\b(?:from hard to (?:soft|warn|advisory)|enforcement (?:to|from|level)\b[^.\n]{0,20}?\b(?:soft|warn|none|off))\b",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "memkit: ignore|--no-verify|noqa",
        r"\b(?:add|write|put|append|insert|place)\b[^\n]{0,20}?#?\s*memkit:\s*ignore\b|\bgit\s+(?:commit|push)\b[^\n]{0,60}?--no-verify\b(?=[^\n]{0,60}?\b(?:lint|check|hooks?|polic|review|memkit))",
        "switch off what checks it",
    ),
    pattern_of(
        GOVERNED,
        "quarantin",
        r"\b(?:approve|release|admit|unlock|restore|accept)\b[^.\n]{0,20}?\b(?:all|every|each|any|the) (?:of the )?(?:quarantined|held(?: back)?|rejected)\b[^.\n]{0,20}?\b(?:memor(?:y|ies)|records?|facts?|entries)\b",
        "approve in a person's place",
    ),
    pattern_of(
        GOVERNED,
        "remember|memor",
        r"\b(?:remember|memori[sz]e|keep in mind|store in memory|save to memory)\b(?: that)?[^.\n]{0,60}?\b(?:is|are) (?:an? |the )?(?:admin\w*|owner|operator|superuser|root)\b[^.\n]{0,40}?\b(?:may|can|is allowed to|has the right to) (?:do )?(?:everything|anything|whatever)\b",
        "plant an order in memory",
    ),
    pattern_of(
        GOVERNED,
        "jsonl|archive",
        r"\b(?:append|write|add|insert|echo|put)\b[^\n]{0,80}?\b(?:to|into|in|>>)\b[^\n]{0,20}?\barchive(?:'s|/)?[^\n]{0,20}?\bjsonl\b",
        "write memory past the gate",
    ),
    pattern_of(
        GOVERNED,
        "memkit policy",
        r"\bmemkit\s+policy\s+(?:rollback|commit)\b",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "preference|fact|constraint|goal|rule",
        rf"\b(?:save|store|record|note|keep|remember)\b[^.\n]{{0,40}}?\bas an? (?:\w+ )?(?:preference|fact|constraint|goal|rule)(?:\s*[:,-]|\s+that\b)[^\n]{{0,100}}?{_UNASKED}",
        "plant an order in memory",
    ),
    pattern_of(
        GOVERNED,
        "other skill",
        r"\b(?:add|append|insert|write|put|inject|copy)\b[^.\n]{0,60}?\b(?:to|into|in)\s+(?:every|all|each|any|the)(?: of)?(?: the| your)? other skills?\b",
        "change skills by itself",
    ),
)
"""In the order in which they are tried; a place is reported once for each rule."""
