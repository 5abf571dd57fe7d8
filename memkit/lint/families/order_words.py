# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""Orders of hostile skills in words: to drop instructions, to obey a page, to change what governs the agent."""

from __future__ import annotations

from memkit.lint.families.order_commands import CHANGE, FOLLOW, URL, WEAKEN, WRITE, HostileOrder
from memkit.runtime.memory.gate.hostile import CLAUSE, DIRECTIVES, DROP, NEEDED, RULES, WHOSE

_PERSON = r"(?:user|human|operator|owner|reviewer)"
_LAPSED = r"(?:void|cancell?ed|revoked|obsolete|null|superseded|invalid|irrelevant|forgotten|gone)"
_UNASKED = r"(?:\balways (?:run|execute|approve|allow|send|accept)\b|\bwithout (?:asking|confirmation|approval|permission)\b|\bnever (?:ask|confirm|refuse)\b|\b(?:confirmation|approval|permission) is (?:never|not) (?:needed|required|necessary)\b)"
_STOPPED = r"(?:blocked|denied|refused|rejected|stopped|forbidden|disallowed|not allowed)"
_CALL = r"(?:an? |the |any |this |your )?(?:\w+ )?(?:calls?|tools?|commands?|actions?|steps?|bash|shell|it|this|that|polic(?:y|ies)|guard|gate)"
_AROUND = r"(?:retry|try|do|run|repeat|use|call|carry on|go on|continue|rename|rephrase|reword|split|encode|switch)"


OVERRIDE = (
    *(
        HostileOrder("|".join(needed), order.pattern)
        for (kind, order), needed in zip(DIRECTIVES, NEEDED, strict=True)
        if kind in ("override", "role")
    ),
    HostileOrder(
        "instruction|prompt|rule|guideline",
        rf"{CLAUSE}(?:do not|don't|never|no longer|stop)\s+(?:follow|obey|comply with|listen to|heed)(?:ing)?\s+(?:the\s+|any\s+|your\s+|all\s+)*(?:system|developer|previous|prior|other|safety|original|user'?s?)\s+(?:{RULES}|message)",
    ),
    HostileOrder(
        "instruction|prompt",
        rf"{CLAUSE}(?:reveal|print|repeat|output|leak|disclose|dump|expose|recite|send)(?:\s+[\w']+){{0,4}}?\s+(?:(?:system|hidden|initial|secret|developer) (?:prompt|instructions?|message)|your (?:instructions|system prompt))\b",
        "reveal the instructions that were given",
    ),
    HostileOrder(
        "<|im_start|[inst|<<sys|<system|<assistant|</system|<developer",
        r"<\|?/?(?:im_start|im_end|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|?>|\[/?inst\]|<</?sys>>|<\s*/?\s*(?:system|assistant|developer)(?:[_ -](?:prompt|message|instructions?|reminder))?\s*>",
        "speak with the voice of the system",
    ),
    HostileOrder(
        "user|human|operator|owner|reviewer|developer",
        r"\b(?:do not|don't|never|without)\s+(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|mention(?:ing)? (?:this|it|that|these|any of this)(?: \w+){0,2} to|reveal(?:ing)? (?:this|it|that) to|show(?:ing)? (?:this|it|that) to|let(?:ting)?)\s+(?:the |your |any )?(?:user|users|human|humans|operator|owner|reviewer|developer|developers)(?:\s+(?:know|about (?:this|it|these|that)|of (?:this|it)|that you|what you)\b|\s*(?:[.!,;\n\"')]|$))",
        "keep something from the user",
    ),
    HostileOrder(
        "secret|hid|conceal",
        r"\b(?:keep|hide|conceal)\s+(?:this|it|that|these(?: \w+)?|the(?: \w+){1,2})\s+(?:a secret |secret |hidden )?from\s+(?:the |your |any )?(?:user|human|operator|owner|reviewer|developer)s?\b",
        "keep something from the user",
    ),
    HostileOrder(
        "without|authori",
        r"\b(?:you|the (?:assistant|agent|model))\s+(?:are|is|have been|has been)\s+(?:now |hereby |fully |already )*(?:authori[sz]ed|permitted|cleared|pre-?approved)\s+to\s+(?:\w+ ){0,8}?without\s+(?:asking|approval|confirmation|permission|consent|any (?:approval|confirmation|restrictions?))",
        "act without asking",
    ),
    HostileOrder(
        "safety|security|guardrail|restriction|filter|safeguard",
        rf"{CLAUSE}(?:disable|turn off|deactivate|lift|bypass|circumvent|evade|switch off|ignore|disregard)\s+(?:all |any |the |your |every |its |these )*(?:safety|security|moderation|ethical|built-in|content)\s+(?:filters?|guardrails?|restrictions?|checks?|safeguards?|controls?|guidelines|protocols?|rules|warnings?|policy|policies)\b",
        "switch safeguards off",
    ),
    HostileOrder(
        "priority|precedence|supersede|outrank|overrid",
        r"\b(?:this skill|these (?:instructions|steps|rules)|this (?:instruction|step|text))\s+(?:takes?|has|have)\s+(?:absolute |higher |highest |the highest )?(?:priority|precedence)\s+over\b|\b(?:this skill|these (?:instructions|steps|rules))\s+(?:overrides?|supersedes?|outranks?)\s+(?:all|any|every|the|your)\b",
        "put itself above other instructions",
    ),
    HostileOrder(
        "told|given|said|written|above",
        rf"\b(?:whatever|everything|anything|all|what) (?:that )?(?:you (?:were|are|have been|had been) (?:told|given|taught|instructed)|(?:was|is|has been|had been) (?:said|written)|(?:stands |comes )?above)\b[^.\n]{{0,40}}?\b(?:(?:no longer|does not|doesn't) (?:counts?|apply|applies|matters?|holds?|binds?)|{_LAPSED})\b(?! to (?!you))",
    ),
    HostileOrder(
        "kindly|hereby|here|completely|entirely|silently|secretly|quietly",
        rf"\b(?:here|kindly|hereby|silently|secretly|quietly|completely|entirely|fully)\s+{DROP}(?:\s+[\w']+){{0,3}}?\s+{WHOSE}(?:\s+[\w']+){{0,2}}?\s+{RULES}\b",
    ),
    HostileOrder(
        "know|see|learn|notice|find out|told|informed|asked",
        rf"\b(?:the |your )?{_PERSON}s? (?:need not|needn't|must not|mustn't|must never|should not|shouldn't|should never|may not|(?:does not|doesn't|do not|don't) (?:need|have) to|has no need to) (?:ever )?(?:know|see|learn|notice|find out|hear|be told|be informed|be asked)\b(?: (?:about|of))?(?: (?:it|this|that|these|any of (?:this|it)|what you\b[^.\n]{{0,20}}))?\s*(?:[.!,;\n]|$)",
        "keep something from the user",
    ),
    HostileOrder(
        "nothing|no trace|no mention|no word",
        rf"\b(?:nothing|no (?:trace|mention|word)) (?:of|about|from) (?:this|these|it|that)(?: \w+)? (?:may|must|should|can|is to|shall) (?:ever )?(?:appear|show|be (?:shown|mentioned|said|visible|seen)|reach)\b[^.\n]{{0,60}}?\b(?:{_PERSON}s?|answer|reply|response|log|transcript)\b",
        "keep something from the user",
    ),
    HostileOrder(
        "this skill|this tool",
        r"\balways (?:load|use|pick|choose|select|prefer|call|apply|run|read) this (?:skill|tool)\s+(?:first|before (?:any|every|all)|instead of|over (?:any|all|every)|for everything|for every)\b|\b(?:disregard|ignore|skip|avoid) (?:all |any |the )*other(?: skills\b|s[.!\n]|s$)",
        "put itself above other instructions",
    ),
    HostileOrder(
        "rules|instructions|guidance|limits|restrictions|guidelines",
        rf"\b(?:treat|consider|regard) (?:all |any |every |the |your )*(?:[\w']+ )?{RULES}\b[^.\n]{{0,60}}?\b(?:as|to be) (?:{_LAPSED}|expired|outdated)\b|\byour (?:earlier|previous|prior|original|usual|normal|old) {RULES} (?:is|are|was|were|has been|have been) (?:now )?(?:{_LAPSED}|expired|replaced|suspended|lifted)\b|\b(?:{RULES}|limits) (?:no longer|do not|don't|does not|doesn't) (?:bind|apply to|concern|limit|hold for) you\b",
    ),
    HostileOrder(
        "system message|system prompt|developers gave|usual restrictions|no restrictions|rules did not|rules don't|limits",
        rf"\b(?:stop|quit|cease) (?:following|obeying|heeding) (?:the |your )?(?:system|developer|operator)\b|\b(?:overlook|ignore|disregard|break) (?:every|all|any|each)(?: of)?(?: the| your)? {RULES}(?: that)? (?:the |your )?(?:developers?|operators?|company|creators?|makers?) (?:gave|set|wrote|made|put)\b|\b(?:answer|act|respond|reply|work|behave|go on) (?:\w+ ){{0,4}}?(?:without|with no)(?: any| all)?(?: of)?(?: your| the)? ?(?:usual |normal |safety |content )*(?:restrictions|safeguards|guardrails|filters)\b(?! (?:on|applied|set|in)\b)|\bas (?:if|though) (?:there were no |(?:the |your )?(?:content |safety )?)(?:rules|restrictions|guidelines|policies)(?: (?:did not|didn't) exist)?\b",
        "act without safeguards",
    ),
    HostileOrder(
        "disclose|reveal|admit|anyone|anybody|tell",
        rf"\b(?:do not|don't|never) (?:disclose|reveal|admit|tell|say|mention) (?:(?:this |it )?(?:to )?(?:anyone|anybody|any {_PERSON}) )?(?:that|what|how) you (?:ran|run|did|do|have|sent|send|read|were|are|changed|called|used)\b",
        "keep something from the user",
    ),
    HostileOrder(
        "blocked|denied|denies|refuse|reject|stopped|forbid|disallow|says deny|says no|not allowed",
        rf"\b(?:if|when|whenever|once|even if|should) {_CALL} (?:(?:is|are|gets?|was) {_STOPPED}(?! by (?!the (?:polic|guard|gate)))|(?:denies|refuses|blocks|rejects|forbids|says (?:deny|no|ask))(?: it| this)?)\b[^.\n]{{0,12}}?[,;:]? (?:then |just |simply )*{_AROUND}\b[^.\n]{{0,60}}?\b(?:another|other|different|same|through|instead|again|anyway|until it (?:works|passes))\b|\b{_AROUND}\b[^.\n]{{0,30}}?\b(?:even if|although|no matter (?:what|whether)|regardless of (?:what|whether)) (?:the |a |any )?(?:polic(?:y|ies)|guard|gate)\b",
        "get around what decides about its own calls",
    ),
    HostileOrder(
        "guard|policy|policies|filter|linter|reviewer|scanner",
        r"\b(?:so that|such that|so) (?:the |a |no |any )?(?:guard|polic(?:y|ies)|gate|filter|linter|reviewer|scanner|lint) (?:does not|doesn't|do not|don't|cannot|can't|will not|won't|never|fails? to|is not|are not) (?:\w+ )?(?:recogni[sz]e|notice|see|match|catch|detect|find|understand|run|triggered|apply)\b|\b(?:past|around|by) (?:the |every |any )?(?:polic(?:y|ies)|guard|policy (?:check|gate|engine)|write gate)(?: checks?)?\s*(?:[.,;!\n]|$)|\b(?:get|slip|smuggle|sneak)\b[^.\n]{0,60}?\b(?:past|around|through) (?:the |every |any )?(?:polic(?:y|ies)|guard|gate|filters?|review|lint(?:er)?)\b",
        "get around what decides about its own calls",
    ),
    HostileOrder(
        "confirm|approv|agreed|consent",
        rf"\b(?:claim|pretend|say|state|assert|tell \w+(?: \w+)?|answer|report|act as (?:if|though)|assume) (?:that )?(?:the |a |an |your |some )?(?:{_PERSON}|person|somebody|someone|admin\w*|manager) (?:has |had |already |have )*(?:confirmed|approved|agreed|consented|authori[sz]ed|permitted|signed off)\b(?![^.\n]{{0,60}}\b(?:if|once|only)\b)",
        "confirm in a person's place",
    ),
    HostileOrder(
        "context.",
        r"\b(?:set|put|change|fake|forge|pass|give|override)\b[^.\n]{0,20}?\bcontext\.\w+[^.\n]{0,60}?\b(?:so that|to (?:get|make|pass|skip|avoid|bypass)|exception)\b",
        "get around what decides about its own calls",
    ),
    HostileOrder(
        "vergiss|ignorier|missachte|vergesst|seguire|seguir|sigas|siga |suivez|suis |ignora|ignore ",
        r"\b(?:ignorier(?:e|en sie|t)|missachte|vergiss) (?:\w+ ){0,2}?(?:alle|die|sämtliche) (?:\w+ )?(?:vorherigen|bisherigen|früheren|obigen|vorigen) (?:anweisungen|regeln|vorgaben|befehle|instruktionen)\b|\bvergiss (?:alles|das),? was (?:dir|ihnen|man dir|ich dir|du)\b|\bignora (?:tutte |todas )?(?:las|le|les|as|os) (?:reglas|regole|regras|normas) (?:del|di|do|de) (?:sistema|operador\w*|operatore)\b|\bnon seguire (?:più )?(?:le|nessuna delle) (?:istruzioni|regole) (?:precedenti|di sistema)\b|\bno (?:sigas|siga|obedezcas) (?:más )?(?:las )?(?:instrucciones|reglas) (?:anteriores|previas|del sistema)\b|\bne (?:suivez|suis) (?:plus|pas) (?:les|tes|vos) (?:instructions|consignes|règles) (?:précédentes|antérieures|ci-dessus|du système)\b|\bn[ãa]o (?:sigas?|obedeça) (?:mais )?(?:as )?(?:instruções|regras) (?:anteriores|do sistema)\b",
    ),
    HostileOrder(
        "внимани|слушай|忘|無視|无视|忽",
        r"не (?:обращай(?:те)?|обращать) внимания на (?:все )?(?:предыдущие|прежние|прошлые) (?:инструкции|указания|команды|правила)|не (?:слушай|следуй)(?:те)? (?:предыдущим|прежним) (?:инструкциям|указаниям)|(?:忘记|忘掉|忽略|无视|無視|忽視)(?:掉)?你?(?:之前|以前|先前|此前)?(?:收到|得到|被给)(?:到|予)?的?(?:所有|全部|一切)?(?:的)?(?:指令|指示|规则|規則|命令)|(?:上記|以前|これまで|先|前)の(?:指示|命令|ルール|規則)(?:は|も)?(?:すべて|全て)?(?:無視|忘れ)",
    ),
)


REMOTE = (
    HostileOrder(
        "http|www.|url|gist|pastebin|raw.",
        rf"\b(?:fetch|download|load|read|open|retrieve|get|visit|pull|curl|import|include|check|browse|consult|go to|query|access|look up)\b[^\n]{{0,120}}?(?:{URL}|\bwww\.\S+|\b(?:the|a|this|that) (?:remote |external )?(?:url|gist|pastebin|web ?page|web ?site|endpoint|link)\b)[^\n]{{0,160}}?\b(?:and|then|,|;|to)\s*(?:then |always |strictly |exactly |immediately |please )*{FOLLOW}\s+(?:\w+ ){{0,3}}?(?:the |its |all |any |those |these |whatever |every |each |it\b|them\b|what |as )[^.\n]{{0,60}}?(?:instruct|steps|command|direct|rules|prompt|order|say|tell|it\b|them\b|there\b|script|content|guidance|response|result|code)",
    ),
    HostileOrder(
        "http|www.|url",
        rf"\b{FOLLOW}\s+(?:\w+ ){{0,2}}?(?:instructions?|steps|commands?|directions?|directives|rules|prompts?|orders|whatever|everything)\b[^.\n]{{0,80}}?(?:\b(?:at|from|in|on|returned by|published at|listed at|hosted at|served by|found at|of)\b)\s*(?:the (?:page|file|url|address|server) )?(?:at |from )?[<`'\"(]*(?:{URL}|www\.\S+|(?:that|the|a|this) (?:remote |external )(?:url|page|server|endpoint|file|site))",
    ),
    HostileOrder(
        "@import|include|embed|transclude|@http",
        rf"(?:@import|[@!]include|\{{\{{\s*(?:include|import|embed|transclude))\b[:(\s]*[\"'<(`]*{URL}|(?:^|\n)\s*(?:includes?|imports?|extends|source):\s*{URL}|(?:^|\s)@https?://|\b(?:include|embed|import|append|insert|inject)\s+(?:the |its )?(?:instructions?|contents?|prompt|rules|steps|text)\s+(?:at|from|of|found at)\s+[<`'\"(]*{URL}",
        "take instructions from the network",
    ),
    HostileOrder(
        "skill|instruction|update",
        rf"\b(?:replace|update|overwrite|refresh|self-update|sync|reload)\s+(?:this skill|this file|these (?:instructions|steps)|the skill(?:'s)? (?:file|steps|instructions)|your (?:instructions|steps|rules|prompt))\b[^.\n]{{0,120}}?(?:{URL}|\bfrom the (?:network|internet|server|web)\b)",
        "take instructions from the network",
    ),
    HostileOrder(
        "http",
        rf"{URL}[^\n]{{0,80}}?\b(?:load|read|open|fetch|get|retrieve|download)\s+(?:it|them|that|the (?:page|file))\b[^\n]{{0,40}}?\b(?:and|then)\s+(?:then )?(?:do (?:as|what|whatever|everything)|obey|(?:follow|execute|run|apply|carry out) (?:it|them|what|the (?:instructions|steps|commands)))\b",
    ),
    HostileOrder(
        "instruction|orders|command|directive",
        r"\b(?:check|poll|consult|fetch|read|visit|watch|query|ask)\b[^.\n]{0,40}?\b(?:gist|pastebin|url|web ?page|web ?site|server|endpoint|channel|feed)\b[^.\n]{0,40}?\b(?:new|updated|latest|current|further|additional|next)\s+(?:instructions?|orders|commands?|directives)\b[^.\n]{0,20}?\b(?:and|then)\s+(?:then )?(?:follow|obey|execute|run|apply|carry out|perform)\b",
    ),
)


GOVERNED = (
    HostileOrder(
        "policies/|memkit.yaml",
        rf"\b{CHANGE}\b[^.\n]{{0,60}}?(?:\bpolicies/[\w*-]+\.ya?ml\b|\bmemkit\.yaml\b|\bpolicies/(?=[\s`'\"*]|$))",
    ),
    HostileOrder(
        "policy|policies|guard|gate",
        rf"\b{WEAKEN}\b[^.\n]{{0,60}}?\b(?:the |any |all |every |this |that |your |its |each |other |hard |active |security |safety )*(?:polic(?:y|ies)|guard|policy (?:file|set|gate|engine)s?|write gate)\b(?! (?:page|document|text|wording|brief|paper|holder|section|draft|statement|number)s?\b)",
    ),
    HostileOrder(
        "policy|policies",
        r"\b(?:edit|change|modify|rewrite|overwrite|replace|update|adjust|alter)\b[^.\n]{0,40}?\bpolic(?:y|ies)\b[^.\n]{0,60}?\b(?:so that|to (?:allow|permit|let|make|stop|skip|avoid)|until|in order to)\b",
    ),
    HostileOrder(
        "enforcement|effect|active",
        r"\b(?:set|change|switch|flip|turn|downgrade|lower|make|sed|s/)\b[^\n]{0,80}?\b(?:enforcement\b[^\n]{0,20}?\b(?:soft|none|off|advisory)|effect\b[^\n]{0,12}?\b(?:allow|warn|none)|active\b[^\n]{0,8}?\bfalse)\b",
    ),
    HostileOrder(
        "memkit memory approve|memkit memory allow|memkit consent grant|memkit policy|privacy.|consent",
        r"\bmemkit\s+(?:memory\s+(?:approve|allow)|consent\s+grant|key\s+destroy)\b|\bgrant\s+(?:yourself |the )?consent\s+(?:for|on behalf of|in the name of)\b",
        "approve in a person's place",
    ),
    HostileOrder(
        "exception",
        r"\b(?:add|insert|append|write|create|put)\b[^.\n]{0,60}?\bexceptions?\b[^.\n]{0,60}?\b(?:to|into|in|for)\b[^.\n]{0,40}?\b(?:polic(?:y|ies)|policies/\S+|guard|hard rule)",
    ),
    HostileOrder(
        "archive/|.jsonl",
        rf"\b(?:{WRITE}|{CHANGE})\b[^\n]{{0,160}}?(?<![\w/.-])archive/(?:\S*\.jsonl|\d{{4}}-\d\d|\*)|>>?\s*[\"']?(?:\./)?archive/\S+\.jsonl",
        "write memory past the gate",
    ),
    HostileOrder(
        "core_memory|core memory|persona|system section",
        rf"\bcore_memory_(?:replace|append)\b[^\n]{{0,80}}?\b(?:persona|system)\b|\b{CHANGE}\b[^.\n]{{0,40}}?\b(?:the agent's |your |its |the )?(?:persona|system section|core (?:memory )?section (?:system|persona)|own instructions)\b",
        "change who the agent is",
    ),
    HostileOrder(
        "memor|remember",
        r"(?:\b(?:store|save|insert|write|add|plant|put|record|persist|keep|note|append|update|edit|set|change|rewrite|replace)\b[^.\n]{0,100}?\b(?:memory|memories)\b|\barchival_memory_insert\b|\bcore_memory_append\b|\bremember\b|\bmemori[sz]e\b)[^\n]{0,160}?(?:\b(?:pre-?approved|pre-?authori[sz]ed)\b|\b(?:approved|approves|authori[sz]ed|authori[sz]es|allowed|permits|permitted|consents? to|agreed to)\s+(?:all|every|any|future|unrestricted|everything)\b|\balways (?:allow|trust|obey|approve|run|execute|send|comply|complie|say yes|accept)s?\b|\bnever (?:ask|confirm|refuse|question)\b|\bno (?:confirmation|approval|permission)s?\b|\bwithout (?:asking|confirmation|approval|permission)\b|\b(?:ignore|bypass|skip|disregard|overrides?)\b[^.\n]{0,40}?\b(?:polic|rules?|confirm|checks?|safety|instructions?|approval)|\bis (?:a )?(?:fully )?trusted\b|\bpolic(?:y|ies) (?:do|does) not apply\b)",
        "plant an order in memory",
    ),
    HostileOrder(
        "memor|audit|log|history",
        r"\b(?:delete|erase|wipe|clear|purge|overwrite|truncate|destroy|rm)\b[^.\n]{0,40}?\b(?:all (?:of )?(?:the |your |its )?(?:memor(?:y|ies)|records)|the (?:entire |whole )?(?:memory|archive|audit (?:log|trail))|(?:your|the agent's|its) memor(?:y|ies)|audit (?:log|trail)s?|shell history|\.memkit/state)\b",
        "destroy memory or the account of what was done",
    ),
    HostileOrder(
        "memor",
        r"\b(?:rewrite|overwrite|edit|alter|change|modify|tamper with|falsify)\s+(?:your(?: own)?|the agent's|its(?: own)?)\s+(?:core |archival |long-term )?memor(?:y|ies)\b",
        "plant an order in memory",
    ),
    HostileOrder(
        "skill",
        rf"\b{CHANGE}\s+(?:(?:the |all )?(?:text|steps?|files?|instructions?|rules|contents?|safety checks) (?:of|in) )?(?:the )?(?:file )?(?:this skill'?s?(?: (?:file|own))?|your own (?:skill|instructions|steps)|the other skills|all (?:other )?skills|skills/[\w*.-]+\.yaml)\b|\brewrite (?:this skill|yourself)\b",
        "change skills by itself",
    ),
    HostileOrder(
        ">>|>|tee", r"(?:>>?|\btee\s+(?:-a\s+|--append\s+)?)\s*[\"']?(?:\./)?(?:policies/[\w*.-]+|memkit\.yaml)\b"
    ),
    HostileOrder(
        "policies",
        r"(?:^|[`'\"&|;:]|\brun|\bthen|\band)\s*(?:sudo )?(?:git )?(?:mv|rm|unlink|shred|truncate|chmod)\s+(?:-\S+\s+)*(?:\./)?policies(?:/\S*)?(?=[\s`'\";&]|$)",
    ),
    HostileOrder(
        "enforcement",
        r"\b(?:lower|reduce|relax|change|switch|set|move|drop)\b[^.\n]{0,80}?\b(?:from hard to (?:soft|warn|advisory)|enforcement (?:to|from|level)\b[^.\n]{0,20}?\b(?:soft|warn|none|off))\b",
    ),
    HostileOrder(
        "memkit: ignore|--no-verify|noqa",
        r"\b(?:add|write|put|append|insert|place)\b[^\n]{0,20}?#?\s*memkit:\s*ignore\b|\bgit\s+(?:commit|push)\b[^\n]{0,60}?--no-verify\b(?=[^\n]{0,60}?\b(?:lint|check|hooks?|polic|review|memkit))",
        "switch off what checks it",
    ),
    HostileOrder(
        "quarantin",
        r"\b(?:approve|release|admit|unlock|restore|accept)\b[^.\n]{0,20}?\b(?:all|every|each|any|the) (?:of the )?(?:quarantined|held(?: back)?|rejected)\b[^.\n]{0,20}?\b(?:memor(?:y|ies)|records?|facts?|entries)\b",
        "approve in a person's place",
    ),
    HostileOrder(
        "remember|memor",
        r"\b(?:remember|memori[sz]e|keep in mind|store in memory|save to memory)\b(?: that)?[^.\n]{0,60}?\b(?:is|are) (?:an? |the )?(?:admin\w*|owner|operator|superuser|root)\b[^.\n]{0,40}?\b(?:may|can|is allowed to|has the right to) (?:do )?(?:everything|anything|whatever)\b",
        "plant an order in memory",
    ),
    HostileOrder(
        "jsonl|archive",
        r"\b(?:append|write|add|insert|echo|put)\b[^\n]{0,80}?\b(?:to|into|in|>>)\b[^\n]{0,20}?\barchive(?:'s|/)?[^\n]{0,20}?\bjsonl\b",
        "write memory past the gate",
    ),
    HostileOrder("memkit policy", r"\bmemkit\s+policy\s+(?:rollback|commit)\b"),
    HostileOrder(
        "preference|fact|constraint|goal|rule",
        rf"\b(?:save|store|record|note|keep|remember)\b[^.\n]{{0,40}}?\bas an? (?:\w+ )?(?:preference|fact|constraint|goal|rule)(?:\s*[:,-]|\s+that\b)[^\n]{{0,100}}?{_UNASKED}",
        "plant an order in memory",
    ),
    HostileOrder(
        "other skill",
        r"\b(?:add|append|insert|write|put|inject|copy)\b[^.\n]{0,60}?\b(?:to|into|in)\s+(?:every|all|each|any|the)(?: of)?(?: the| your)? other skills?\b",
        "change skills by itself",
    ),
)
