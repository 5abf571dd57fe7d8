# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""What hostile skills order, as patterns on text in small letters.

A pattern is tried only where one of its keywords stands, so that ordinary text costs next to nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from memkit.runtime.memory.gate.hostile import CLAUSE, DIRECTIVES, RULES

OVERRIDE, PIPED, DECODED, GRANT = "MKS101", "MKS105", "MKS106", "MKS108"
REMOTE, PERSISTENT, GOVERNED = "MKS110", "MKS111", "MKS112"


@dataclass(frozen=True)
class Pattern:
    """One way to order something."""

    code: str
    keywords: tuple[str, ...]
    source: str | re.Pattern[str]
    says: str
    """What the matched words order."""
    unless: str = ""
    """What makes the matched words ordinary."""

    def may_match(self, reading: str) -> bool:
        """Return whether one of the keywords stands in a text; other languages may say it without."""
        return any(word in reading for word in self.keywords) or (self.keywords is _DROPS and not reading.isascii())

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the compiled pattern; most are never needed."""
        return re.compile(self.source)

    @cached_property
    def exception(self) -> re.Pattern[str] | None:
        """Return what makes the matched words ordinary, compiled."""
        return re.compile(self.unless) if self.unless else None


def pattern_of(code: str, keywords: str, pattern: str, says: str, *, unless: str = "") -> Pattern:
    """Return a pattern; its keywords stand between bars."""
    words = tuple(keywords.split("|")) if keywords != "|" else ("|",)
    return Pattern(code, words, pattern, says, unless)


GAP = r"(?:[^\n;]|\\\n|\n(?=\s*\|)){0,400}?"
"""What may stand inside of one command; a line may go on after a backslash or before a pipe."""
FETCH = r"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|lwp-download|http(?:ie|s)?|lynx|downloadstring|urlopen)\b"
SHELL = r"(?:\S{0,60}/)?(?:ba|z|da|k|tc|c|fi|a)?sh\b|(?:\S{0,60}/)?(?:python[\d.]*|perl|ruby|node|php|deno|bun|osascript|pwsh|powershell|lua)\b|iex\b|invoke-expression\b"
RUNNER = rf"(?:(?:sudo|env|nohup|exec|command|time|doas|xargs|timeout \d+\w?)(?:\s+-{{1,2}}\w[\w=-]*|\s+\w+=\S*)*\s+)*(?:{SHELL})(?!\s+-m\s)"
PIPE = rf"\|&?\s*(?:\\\n\s*)?(?:(?:tee|cat|tr|sed|head|tail|gunzip|zcat|gzip|grep)\b[^|\n]{{0,80}}\|\s*)*{RUNNER}"
THEN_RUN = rf"(?:(?!sha\d|checksum|verif|signature|gpg|cosign|minisign)[^\n]|\n(?!\n)){{0,160}}?(?:&&|;|\n|\bthen\b|\band\b)\s*(?:then )?(?:run |execute )?(?:sudo )?(?:chmod\s+\S+\s+|(?:{SHELL})\s+(?:-\w+\s+)*|source\s+|\.\s+|\./|/)[^\s]{{0,60}}?(?P=file)\b"
"""What runs a file that was just written, with nothing that checks it in between."""
URL = r"(?:https?|ftp)://[^\s`'\"<>)\]]+"
FOLLOW = r"(?:follow|execute|run|obey|apply|perform|carry out|do (?:exactly |precisely )?(?:what|whatever|as|everything)|comply with|act on|adopt|load|eval(?:uate)?|treat)"
RC = r"\.(?:bashrc|zshrc|profile|bash_profile|bash_login|zprofile|zshenv|zlogin|kshrc|cshrc|xinitrc|xprofile)\b|config\.fish\b|/etc/profile(?:\.d)?\b|\$profile\b|/etc/rc\.local\b|/etc/environment\b"
SETTING = r"^(?![^\n]*(?:curl|wget|https?://|nohup|/tmp/|base64|\bnc\b|&\s*['\"`]))[^\n]*(?:\bexport\s+\w+=|\balias\s+(?!(?:sudo|su|ssh|doas)=)|\bpath\b|\bcompletions?\b|\beval\s+[\"']?\$\(\S+ (?:hook|init|shellenv|env)\b|\bsource\s+[\"']?(?:~|\$home|/usr)\S*(?:completion|nvm|sdkman|env)\S*)"
"""Settings that people put into the files of their shell: they run nothing of a stranger's."""
WRITE = r"(?:append|add|write|insert|put|echo|install|copy|inject|place|drop|save|cat|tee|printf)"
WEAKEN = r"(?:delete|remove|disable|deactivate|weaken|relax|soften|loosen|turn off|switch off|comment out|empty|bypass|circumvent|unset|neutrali[sz]e|suspend|lift|drop|downgrade|overwrite|work around|get around)"
CHANGE = r"(?:edit|change|modify|rewrite|overwrite|replace|delete|remove|disable|deactivate|weaken|relax|soften|loosen|turn off|switch off|comment out|patch|empty|truncate|bypass|circumvent|unset|neutrali[sz]e|suspend|lift|drop|clear|downgrade|lower|rm|sed -i)"

_DROPS = (
    "ignor", "disregard", "forget", "overrid", "overrul", "bypass", "neglect", "abandon", "follow", "obey", "set aside",
    "attention", "delete", "skip", "discard", "instruction", "prompt", "directive", "void", "obsolete", "superseded", "mode",
    "you are now", "you are no longer", "from now on", "act as", "pretend", "behave", "roleplay", "role-play", "respond",
    "jailbr", "anything now", "oubli", "olvid", "esque", "vergeet", "verg", "missacht", "dimentica", "negeer", "abaikan", "command", "rules",
)  # fmt: skip
"""What no order to drop instructions does without, in the languages that need no other letters than English."""

PATTERNS: tuple[Pattern, ...] = (
    *(
        Pattern(OVERRIDE, _DROPS, regex, "drop the instructions that were given")
        for kind, regex in DIRECTIVES
        if kind in ("override", "role")
    ),
    pattern_of(
        OVERRIDE,
        "instruction|prompt|rule|guideline",
        rf"{CLAUSE}(?:do not|don't|never|no longer|stop)\s+(?:follow|obey|comply with|listen to|heed)(?:ing)?\s+(?:the\s+|any\s+|your\s+|all\s+)*(?:system|developer|previous|prior|other|safety|original|user'?s?)\s+(?:{RULES}|message)",
        "drop the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "instruction|prompt",
        rf"{CLAUSE}(?:reveal|print|repeat|output|leak|disclose|dump|expose|recite|send)(?:\s+[\w']+){{0,4}}?\s+(?:(?:system|hidden|initial|secret|developer) (?:prompt|instructions?|message)|your (?:instructions|system prompt))\b",
        "reveal the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "<|im_start|[inst|<<sys|<system|<assistant|</system|<developer",
        r"<\|?/?(?:im_start|im_end|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|?>|\[/?inst\]|<</?sys>>|<\s*/?\s*(?:system|assistant|developer)(?:[_ -](?:prompt|message|instructions?|reminder))?\s*>",
        "speak with the voice of the system",
    ),
    pattern_of(
        OVERRIDE,
        "user|human|operator|owner|reviewer|developer",
        r"\b(?:do not|don't|never|without)\s+(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|mention(?:ing)? (?:this|it|that|these|any of this)(?: \w+){0,2} to|reveal(?:ing)? (?:this|it|that) to|show(?:ing)? (?:this|it|that) to|let(?:ting)?)\s+(?:the |your |any )?(?:user|users|human|humans|operator|owner|reviewer|developer|developers)(?:\s+(?:know|about (?:this|it|these|that)|of (?:this|it)|that you|what you)\b|\s*(?:[.!,;\n\"')]|$))",
        "keep something from the user",
    ),
    pattern_of(
        OVERRIDE,
        "secret|hid|conceal",
        r"\b(?:keep|hide|conceal)\s+(?:this|it|that|these(?: \w+)?|the(?: \w+){1,2})\s+(?:a secret |secret |hidden )?from\s+(?:the |your |any )?(?:user|human|operator|owner|reviewer|developer)s?\b",
        "keep something from the user",
    ),
    pattern_of(
        OVERRIDE,
        "without|authori",
        r"\b(?:you|the (?:assistant|agent|model))\s+(?:are|is|have been|has been)\s+(?:now |hereby |fully |already )*(?:authori[sz]ed|permitted|cleared|pre-?approved)\s+to\s+(?:\w+ ){0,8}?without\s+(?:asking|approval|confirmation|permission|consent|any (?:approval|confirmation|restrictions?))",
        "act without asking",
    ),
    pattern_of(
        OVERRIDE,
        "safety|security|guardrail|restriction|filter|safeguard",
        rf"{CLAUSE}(?:disable|turn off|deactivate|lift|bypass|circumvent|evade|switch off|ignore|disregard)\s+(?:all |any |the |your |every |its |these )*(?:safety|security|moderation|ethical|built-in|content)\s+(?:filters?|guardrails?|restrictions?|checks?|safeguards?|controls?|guidelines|protocols?|rules|warnings?|policy|policies)\b",
        "switch safeguards off",
    ),
    pattern_of(
        OVERRIDE,
        "priority|precedence|supersede|outrank|overrid",
        r"\b(?:this skill|these (?:instructions|steps|rules)|this (?:instruction|step|text))\s+(?:takes?|has|have)\s+(?:absolute |higher |highest |the highest )?(?:priority|precedence)\s+over\b|\b(?:this skill|these (?:instructions|steps|rules))\s+(?:overrides?|supersedes?|outranks?)\s+(?:all|any|every|the|your)\b",
        "put itself above other instructions",
    ),
    # From the network straight into an interpreter.
    pattern_of(PIPED, "|", rf"{FETCH}{GAP}{PIPE}", "run what is fetched from the network, unseen"),
    pattern_of(
        PIPED,
        "<(|<<<",
        rf"(?:{SHELL}|\bsource\b|(?<!\S)\.)\s+(?:-\w+\s+)*<\(?\s*<?\(?\s*{FETCH}|(?:{SHELL})\s+<<<\s*[\"']?\$\(\s*{FETCH}",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "$(|`|eval",
        rf"(?:\beval\b|\bexec\b|(?:{SHELL})\s+(?:-\w+\s+)*-\w*[ce]\w*)\s*(?:--\s+)?[\"']?\s*(?:\$\(|`|\()\s*(?:sudo\s+)?{FETCH}",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "iex|invoke-expression|downloadstring",
        r"\b(?:iex|invoke-expression)\b[^\n]{0,80}(?:downloadstring|iwr|irm|invoke-webrequest|invoke-restmethod|webclient|curl)",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "exec|eval",
        r"\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*)?[^\n]{0,60}?(?:requests\.get|urlopen|httpx\.get|urllib\.request|fetch\s*\(|axios\.get)",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "pip|pass|feed",
        rf"\b(?:pipe|pass|feed)s?\s+(?:\S+ ){{0,8}}?(?:straight |directly |right )?(?:to|into|through|in)\s+(?:an? |the )?(?:`?(?:{SHELL})`?|shell|interpreter)",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "download|fetch|curl|wget|get",
        rf"\b(?:download|fetch|curl|wget|get|retrieve|grab)\b[^.\n]{{0,80}}{URL}[^\n]{{0,80}}?\b(?:and|then|to)\s+(?:then |immediately |directly |silently )*(?:run|execute|source|eval|launch)\s+(?:it|them|the (?:file|script|result|output|installer|binary|payload|contents?))\b(?![^\n]{{0,120}}(?:after|once|checksum|sha256|signature|verif))",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "script|installer|binary|payload|code",
        rf"\b(?:download|fetch|retrieve|grab|pull)\s+(?:and|then)\s+(?:run|execute|source|eval|install)\b[^.\n]{{0,80}}(?:{URL}|\bfrom the (?:internet|web|network|url)\b)",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "-o|>|--output",
        rf"{FETCH}[^\n|]{{0,200}}?(?:\s-\w*o|--output|>)[\s=]*[\"']?(?:[^\s\"'/]*/)*(?P<file>[\w.-]+){THEN_RUN}",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "http",
        rf"{FETCH}[^\n|;]{{0,200}}?/(?P<file>[\w.-]+\.(?:sh|bash|py|pl|rb|js|ps1|run|bin|exe))\b{THEN_RUN}",
        "run what is fetched from the network, unseen",
    ),
    # Wrapped so that a reviewer cannot read it.
    pattern_of(
        DECODED,
        "base64|b64|openssl",
        rf"\b(?:base64|b64|gbase64|base32|openssl)\b[^|\n]{{0,200}}(?:(?<=\s)-(?:d|-decode|di)\b|(?<=\s)--?d(?:ecode)?\b)[^|\n]{{0,200}}{PIPE}",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        DECODED,
        "xxd|uudecode|printf|rev|tr |gunzip|zcat|gzip|bzcat|xz|hex|rot13|echo -e|basenc",
        rf"\b(?:xxd\s+-r|uudecode|basenc|unhex|rot13|printf\s+['\"]?(?:\\x[0-9a-f]{{2}}|\\[0-7]{{3}})|echo\s+-\w*e\w*\s+['\"]?\\x[0-9a-f]{{2}}|rev\b|tr\s+['\"]?\S+['\"]?\s+['\"]?\S+|(?:gunzip|zcat|bzcat|xzcat)\b|gzip\s+-d\w*)[^|\n]{{0,200}}{PIPE}",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        DECODED,
        "base64|xxd|openssl|b64",
        rf"(?:\beval\b|\bexec\b|\bsource\b|(?:{SHELL})\s+(?:-\w+\s+)*-\w*[ce]\w*|(?:{SHELL})\s+<\(|(?:{SHELL})\s+<<<)\s*[\"']?\s*(?:\$\(|`|<?\(|\()?[^\n]{{0,200}}?(?:base64\s+(?:-d|-di|-D|--decode)|xxd\s+-r|openssl\s+(?:enc|base64)[^\n]{{0,40}}\s-d\b|b64decode|base64_decode|frombase64string)",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        DECODED,
        "exec|eval|function(|loads",
        r"\b(?:exec|eval|compile|new function|function|os\.system|subprocess\.\w+|pickle\.loads|marshal\.loads|__import__|popen|execsync|child_process)\s*\(?[^\n]{0,160}?(?:b64decode|a85decode|b85decode|b32decode|fromhex|unhexlify|decompress\s*\(|rot_?13|codecs\.decode|atob\s*\(|base64_decode|frombase64string|buffer\.from\s*\([^)\n]*(?:base64|hex)|\.unpack\s*\(|gzinflate|str_rot13|string\.fromcharcode)",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        DECODED,
        "powershell|pwsh",
        r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}?\s-e(?:nc|ncodedcommand|c)?\s+[a-z0-9+/=]{16,}",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        DECODED,
        "decod|decrypt|decompress|deobfuscat|unpack|unwrap|unscramble|revers",
        rf"\b(?:(?:decode|decrypt|deobfuscate|unscramble|base64-decode)\b|(?:decompress|unpack|unwrap|reverse)\b[^.\n]{{0,40}}?\b(?:text|string|payload|blob|hex|base64|characters|letters|command|message|line)\b)[^.\n]{{0,100}}?\b(?:and|then)\s+(?:then |immediately |silently |just )*{FOLLOW}\b",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        DECODED,
        "base64|xxd|openssl|gpg",
        rf"\b(?:base64|base32|xxd|openssl|gpg)\b[^\n|]{{0,120}}?\s--?(?:d|di|decode|r|decrypt)\b[^\n|]{{0,120}}?>\s*[\"']?(?:[^\s\"'/]*/)*(?P<file>[\w.-]+){THEN_RUN}",
        "run what is wrapped so that nobody reads it",
    ),
    # Leave to do anything.
    pattern_of(
        GRANT,
        "dangerously|yolo|allow-all|trust-all|bypasspermissions|bypass-approvals|skip-permissions",
        r"--dangerously-[\w-]+|--yolo\b|--allow-all(?:-tools|-paths)?\b|--trust-all-tools\b|\bbypasspermissions\b|--skip-permissions\b",
        "allow every tool call",
    ),
    pattern_of(
        GRANT,
        "allow|permission|tools",
        r"[\"']?(?:allowed?[-_ ]?tools|allow|permissions?|tools|autoapprove|auto_approve|alwaysallow)[\"']?\s*[:=]\s*\[?\s*[\"']?(?:\*|bash\(\*\)|bash\(:\*\)|all\b(?! (?:the|of|tests|files))|write-all\b)",
        "allow every tool call",
    ),
    pattern_of(GRANT, "nopasswd", r"\bnopasswd\s*:\s*all\b", "become root without being asked"),
    pattern_of(
        GRANT, "chmod", r"\bchmod\s+(?:-\w+\s+)*(?:0?777|a\+rwx|ugo\+rwx|\+rwx|4777|u\+s)\b", "open files to everybody"
    ),
    pattern_of(
        GRANT,
        "\"*\"|'*'",
        r"[\"']?action[\"']?\s*:\s*\[?\s*[\"']\*[\"'][^}]{0,200}?[\"']?resource[\"']?\s*:\s*\[?\s*[\"']\*[\"']",
        "allow every action on everything",
    ),
    pattern_of(
        GRANT,
        "tool|permission|command|privilege|approv",
        r"\b(?:grant|give|allow|enable|auto-?approve|approve|accept|request|assume|take)\s+(?:yourself|the agent|this skill|itself|me|it)?\s*(?:with )?(?:access to )?(?:all|every|any|full|unrestricted|unlimited|blanket|root|admin(?:istrator)?)\s+(?:of the |the |available |future |other |your )*(?:tools?(?: calls?)?|permissions?|permission (?:prompts?|requests?)|privileges?|shell commands?|commands?|tool access|capabilities)\b(?!\s+(?:off|away|from)\b)",
        "allow every tool call",
    ),
    # Instructions that change after the review.
    pattern_of(
        REMOTE,
        "http|www.|url|gist|pastebin|raw.",
        rf"\b(?:fetch|download|load|read|open|retrieve|get|visit|pull|curl|import|include|check|browse|consult|go to|query|access|look up)\b[^\n]{{0,120}}?(?:{URL}|\bwww\.\S+|\b(?:the|a|this|that) (?:remote |external )?(?:url|gist|pastebin|web ?page|web ?site|endpoint|link)\b)[^\n]{{0,160}}?\b(?:and|then|,|;|to)\s*(?:then |always |strictly |exactly |immediately |please )*{FOLLOW}\s+(?:\w+ ){{0,3}}?(?:the |its |all |any |those |these |whatever |every |each |it\b|them\b|what |as )[^.\n]{{0,60}}?(?:instruct|steps|command|direct|rules|prompt|order|say|tell|it\b|them\b|there\b|script|content|guidance|response|result|code)",
        "do what a page on the network says",
    ),
    pattern_of(
        REMOTE,
        "http|www.|url",
        rf"\b{FOLLOW}\s+(?:\w+ ){{0,2}}?(?:instructions?|steps|commands?|directions?|directives|rules|prompts?|orders|whatever|everything)\b[^.\n]{{0,80}}?(?:\b(?:at|from|in|on|returned by|published at|listed at|hosted at|served by|found at|of)\b)\s*(?:the (?:page|file|url|address|server) )?(?:at |from )?[<`'\"(]*(?:{URL}|www\.\S+|(?:that|the|a|this) (?:remote |external )(?:url|page|server|endpoint|file|site))",
        "do what a page on the network says",
    ),
    pattern_of(
        REMOTE,
        "@import|include|embed|transclude|@http",
        rf"(?:@import|[@!]include|\{{\{{\s*(?:include|import|embed|transclude))\b[:(\s]*[\"'<(`]*{URL}|(?:^|\n)\s*(?:includes?|imports?|extends|source):\s*{URL}|(?:^|\s)@https?://|\b(?:include|embed|import|append|insert|inject)\s+(?:the |its )?(?:instructions?|contents?|prompt|rules|steps|text)\s+(?:at|from|of|found at)\s+[<`'\"(]*{URL}",
        "take instructions from the network",
    ),
    pattern_of(
        REMOTE,
        "skill|instruction|update",
        rf"\b(?:replace|update|overwrite|refresh|self-update|sync|reload)\s+(?:this skill|this file|these (?:instructions|steps)|the skill(?:'s)? (?:file|steps|instructions)|your (?:instructions|steps|rules|prompt))\b[^.\n]{{0,120}}?(?:{URL}|\bfrom the (?:network|internet|server|web)\b)",
        "take instructions from the network",
    ),
    # What stays after the task.
    pattern_of(
        PERSISTENT,
        ">>|>|tee",
        rf"(?:>>?|\btee\s+(?:-a|--append)?)\s*[\"']?(?:~|\$home|\$\{{home\}}|%userprofile%|/root|/home/[^\s/]+|/etc|/users/[^\s/]+)?/?[\"']?(?:{RC})",
        "run with every shell that starts",
        unless=SETTING,
    ),
    pattern_of(
        PERSISTENT,
        "rc|profile|config.fish|.zsh|.bash",
        rf"\b{WRITE}\b[^\n]{{0,160}}?\b(?:to|into|in|at the end of|onto|inside)\s+(?:the |your |their |user's |\w+'s )*[`'\"]?(?:(?:~|\$home|/root|/home/\S+?|/etc)?/)?(?:{RC})",
        "run with every shell that starts",
        unless=SETTING,
    ),
    pattern_of(
        PERSISTENT,
        "crontab|cron",
        r"\|\s*(?:sudo\s+)?crontab\b(?:\s+-u\s+\w+)?\s*-|(?:>>?|tee\s+(?:-a\s+)?)\s*/(?:etc|var/spool)/cron\S*|@reboot\b|\bcrontab\s+(?:-u\s+\w+\s+)?/\S+",
        "run again and again after the task",
    ),
    pattern_of(
        PERSISTENT,
        "cron|scheduled task|launch|systemd|startup|login item|daemon|autostart|service",
        r"\b(?:add|create|install|register|set up|schedule|write|drop|place|enable)\b[^.\n]{0,100}?\b(?:cron ?(?:job|tab|entry)?|scheduled task|launch ?(?:agent|daemon)|systemd (?:unit|service|timer)|startup (?:item|script|folder|entry)|login item|autostart (?:entry|file)|background (?:daemon|service|process))\b[^\n]{0,160}?(?:\bthis skill\b|\byourself\b|\bthe agent\b|\bre-?(?:run|install|launch|start|enable|infect|add|create)\w*|\bkeeps? (?:running|alive|itself)|\bsurviv\w+|\bpersist\w*|\bsilent\w*|\bhidden\b|\bcurl\b|\bwget\b|https?://|/tmp/|/dev/shm|\bbase64\b|\bstays?\b|(?:~|\$home)/\.[a-z])",
        "stay after the task",
    ),
    pattern_of(
        PERSISTENT,
        "surviv|persist|stay",
        r"\b(?:survives?|surviving|persists?|stays? (?:active|installed|resident))\b[^.\n]{0,60}?\b(?:reboots?|restarts?|after (?:the |this )?(?:task|session)|uninstall\w*|removal|clean-?up|if (?:it is )?(?:removed|deleted))\b",
        "stay after the task",
    ),
    pattern_of(
        PERSISTENT,
        "schtasks|launchctl|launchagents|launchdaemons|systemd/user|autostart|hkcu|hklm|currentversion",
        r"\bschtasks\b[^\n]{0,60}/create\b|\blaunchctl\s+(?:load|bootstrap|submit)\b|(?:>>?|\btee\b|\bcp\b|\bmv\b|\bwrite\b|\bcreate\b|\binstall\b|\bplace\b|\bdrop\b)[^\n]{0,120}?(?:library/launch(?:agents|daemons)|\.config/systemd/user|\.config/autostart)|\b(?:hkcu|hklm|hkey_\w+)\S*currentversion\\\\?run",
        "stay after the task",
    ),
    pattern_of(
        PERSISTENT,
        "authorized_keys",
        r"(?:>>?|\btee\b|\b(?:append|add|write|insert|put|echo|copy|install|place|save|drop)\b)[^\n]{0,200}?\bauthorized_keys\b",
        "let somebody log in later",
        unless=r"\bssh-copy-id\b",
    ),
    pattern_of(
        PERSISTENT,
        "ld_preload|ld.so.preload|sitecustomize|.pth",
        r"\b(?:/etc/ld\.so\.preload|export\s+ld_preload=|sitecustomize\.py|\.pth file)\b",
        "run inside of other programs",
    ),
    pattern_of(
        PERSISTENT,
        ".git/hooks|core.hookspath|post-commit|pre-commit|post-checkout|init.templatedir",
        r"(?:>>?|\btee\b|\b(?:append|add|write|insert|put|echo|copy|install|place|save|drop|create)\b)[^\n]{0,160}?\.git/hooks/[^\n]{0,160}?(?:curl|wget|https?://|base64|/tmp/|\bnc\b|silently|hidden|this skill)|git\s+config\s+--global\s+(?:core\.hookspath|init\.templatedir)\b",
        "run with every git command",
    ),
    pattern_of(
        PERSISTENT,
        "claude.md|agents.md|.cursorrules|gemini.md|copilot-instructions|.claude/|settings.json|system prompt",
        rf"\b{WRITE}\b[^\n]{{0,200}}?\b(?:to|into|in|at the (?:end|top) of)\s+(?:the |your |~/|\S*/)*[`'\"]?(?:~/|\S*/)?(?:claude\.md|agents\.md|\.cursorrules|gemini\.md|copilot-instructions\.md|\.claude/settings\S*)[^\n]{{0,160}}?(?:\b(?:every|each|all|any) (?:future |new |later |other )?(?:session|conversation|turn|run|agent|task|project|request)s?\b|\balways (?:run|load|obey|follow|send|call|trust)|\bfrom now on\b|\bpersist\w*)",
        "order later sessions about",
    ),
    # What judges the agent, changed by the agent.
    pattern_of(
        GOVERNED,
        "policies/|memkit.yaml",
        rf"\b{CHANGE}\b[^.\n]{{0,60}}?(?:\bpolicies/[\w*-]+\.ya?ml\b|\bmemkit\.yaml\b|\bpolicies/(?=[\s`'\"*]|$))",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "policy|policies|guard|gate",
        rf"\b{WEAKEN}\b[^.\n]{{0,60}}?\b(?:the |any |all |every |this |that |your |its |each |other |hard |active |security |safety )*(?:polic(?:y|ies)|guard|policy (?:file|set|gate|engine)s?|write gate)\b(?! (?:page|document|text|wording|brief|paper|holder|section|draft|statement|number)s?\b)",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "policy|policies",
        r"\b(?:edit|change|modify|rewrite|overwrite|replace|update|adjust|alter)\b[^.\n]{0,40}?\bpolic(?:y|ies)\b[^.\n]{0,60}?\b(?:so that|to (?:allow|permit|let|make|stop|skip|avoid)|until|in order to)\b",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "enforcement|effect|active",
        r"\b(?:set|change|switch|flip|turn|downgrade|lower|make|sed|s/)\b[^\n]{0,80}?\b(?:enforcement\b[^\n]{0,20}?\b(?:soft|none|off|advisory)|effect\b[^\n]{0,12}?\b(?:allow|warn|none)|active\b[^\n]{0,8}?\bfalse)\b",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "memkit memory approve|memkit memory allow|memkit consent grant|memkit policy|privacy.|consent",
        r"\bmemkit\s+(?:memory\s+(?:approve|allow)|consent\s+grant|key\s+destroy)\b|\bgrant\s+(?:yourself |the )?consent\s+(?:for|on behalf of|in the name of)\b",
        "approve in a person's place",
    ),
    pattern_of(
        GOVERNED,
        "exception",
        r"\b(?:add|insert|append|write|create|put)\b[^.\n]{0,60}?\bexceptions?\b[^.\n]{0,60}?\b(?:to|into|in|for)\b[^.\n]{0,40}?\b(?:polic(?:y|ies)|policies/\S+|guard|hard rule)",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "archive/|.jsonl",
        rf"\b(?:{WRITE}|{CHANGE})\b[^\n]{{0,160}}?(?<![\w/.-])archive/(?:\S*\.jsonl|\d{{4}}-\d\d|\*)|>>?\s*[\"']?(?:\./)?archive/\S+\.jsonl",
        "write memory past the gate",
    ),
    pattern_of(
        GOVERNED,
        "core_memory|core memory|persona|system section",
        rf"\bcore_memory_(?:replace|append)\b[^\n]{{0,80}}?\b(?:persona|system)\b|\b{CHANGE}\b[^.\n]{{0,40}}?\b(?:the agent's |your |its |the )?(?:persona|system section|core (?:memory )?section (?:system|persona)|own instructions)\b",
        "change who the agent is",
    ),
    pattern_of(
        GOVERNED,
        "memor|remember",
        r"(?:\b(?:store|save|insert|write|add|plant|put|record|persist|keep|note|append|update|edit|set|change|rewrite|replace)\b[^.\n]{0,100}?\b(?:memory|memories)\b|\barchival_memory_insert\b|\bcore_memory_append\b|\bremember\b|\bmemori[sz]e\b)[^\n]{0,160}?(?:\b(?:pre-?approved|pre-?authori[sz]ed)\b|\b(?:approved|approves|authori[sz]ed|authori[sz]es|allowed|permits|permitted|consents? to|agreed to)\s+(?:all|every|any|future|unrestricted|everything)\b|\balways (?:allow|trust|obey|approve|run|execute|send|comply|complie|say yes|accept)s?\b|\bnever (?:ask|confirm|refuse|question)\b|\bno (?:confirmation|approval|permission)s?\b|\bwithout (?:asking|confirmation|approval|permission)\b|\b(?:ignore|bypass|skip|disregard|overrides?)\b[^.\n]{0,40}?\b(?:polic|rules?|confirm|checks?|safety|instructions?|approval)|\bis (?:a )?(?:fully )?trusted\b|\bpolic(?:y|ies) (?:do|does) not apply\b)",
        "plant an order in memory",
    ),
    pattern_of(
        GOVERNED,
        "memor|audit|log|history",
        r"\b(?:delete|erase|wipe|clear|purge|overwrite|truncate|destroy|rm)\b[^.\n]{0,40}?\b(?:all (?:of )?(?:the |your |its )?(?:memor(?:y|ies)|records)|the (?:entire |whole )?(?:memory|archive|audit (?:log|trail))|(?:your|the agent's|its) memor(?:y|ies)|audit (?:log|trail)s?|shell history|\.memkit/state)\b",
        "destroy memory or the account of what was done",
    ),
    pattern_of(
        GOVERNED,
        "memor",
        r"\b(?:rewrite|overwrite|edit|alter|change|modify|tamper with|falsify)\s+(?:your(?: own)?|the agent's|its(?: own)?)\s+(?:core |archival |long-term )?memor(?:y|ies)\b",
        "plant an order in memory",
    ),
    pattern_of(
        GOVERNED,
        "skill",
        rf"\b{CHANGE}\s+(?:(?:the |all )?(?:text|steps?|files?|instructions?|rules|contents?|safety checks) (?:of|in) )?(?:the )?(?:file )?(?:this skill'?s?(?: (?:file|own))?|your own (?:skill|instructions|steps)|the other skills|all (?:other )?skills|skills/[\w*.-]+\.yaml)\b|\brewrite (?:this skill|yourself)\b",
        "change skills by itself",
    ),
)
