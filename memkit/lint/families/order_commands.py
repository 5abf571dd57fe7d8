# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""Commands of hostile skills: what runs unseen, hidden in an encoding, with every right, or after the task.

A pattern is tried only where one of its keywords occurs, so that ordinary text costs next to nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from memkit.runtime.memory.gate.landmarks import Words, folded


@dataclass(frozen=True)
class HostileOrder:
    """One way to order something."""

    keywords: str
    """One of these occurs in the text, with bars between them; a bar alone is itself."""
    source: str
    says: str = ""
    """What the matched words order, if it differs from most patterns of the rule."""
    unless: str = ""
    """What makes the matched words ordinary."""

    def may_match(self, reading: str) -> bool:
        """Return whether one of the keywords occurs in a text."""
        return any(map(reading.__contains__, self.words))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the keywords one by one."""
        return tuple(self.keywords.split("|")) if self.keywords != "|" else ("|",)

    @cached_property
    def landmarks(self) -> Words:
        """Return the keywords as they occur in a folded text."""
        return tuple(map(folded, self.words))

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the compiled pattern; most are never needed."""
        return re.compile(self.source)

    @cached_property
    def exception(self) -> re.Pattern[str] | None:
        """Return the pattern of what makes the matched words ordinary, compiled."""
        return re.compile(self.unless) if self.unless else None


GAP = r"(?:[^\n;]|\\\n|\n(?=\s*\|)){0,400}?"
"""What may occur inside one command; a line may continue after a backslash or before a pipe."""

FETCH = r"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|lwp-download|http(?:ie|s)?|lynx|downloadstring|urlopen)\b"
SHELL = r"(?:\S{0,60}/)?(?:ba|z|da|k|tc|c|fi|a)?sh\b|(?:\S{0,60}/)?(?:python[\d.]*|perl|ruby|node|php|deno|bun|osascript|pwsh|powershell|lua)\b|iex\b|invoke-expression\b"
RUNNER = rf"(?:(?:sudo|env|nohup|exec|command|time|doas|xargs|timeout \d+\w?)(?:\s+-{{1,2}}\w[\w=-]*|\s+\w+=\S*)*\s+)*(?:{SHELL})(?!\s+-m\s)"
PIPE = rf"\|&?\s*(?:\\\n\s*)?(?:(?:tee|cat|tr|sed|head|tail|gunzip|zcat|gzip|grep)\b[^|\n]{{0,80}}\|\s*)*{RUNNER}"
THEN_RUN = rf"(?:(?!sha\d|checksum|verif|signature|gpg|cosign|minisign)[^\n]|\n(?!\n)){{0,160}}?(?:&&|;|\n|\bthen\b|\band\b)\s*(?:then )?(?:run |execute )?(?:sudo )?(?:chmod\s+\S+\s+|(?:{SHELL})\s+(?:-\w+\s+)*|source\s+|\.\s+|\./|/)[^\s]{{0,60}}?(?P=file)\b"
"""Runs a file that was just written, with nothing in between that checks it."""

URL = r"(?:https?|ftp)://[^\s`'\"<>)\]]+"
FOLLOW = r"(?:follow|execute|run|obey|apply|perform|carry out|do (?:exactly |precisely )?(?:what|whatever|as|everything)|comply with|act on|adopt|load|eval(?:uate)?|treat)"
RC = r"\.(?:bashrc|zshrc|profile|bash_profile|bash_login|zprofile|zshenv|zlogin|kshrc|cshrc|xinitrc|xprofile)\b|config\.fish\b|/etc/profile(?:\.d)?\b|\$profile\b|/etc/rc\.local\b|/etc/environment\b"
SETTING = r"^(?![^\n]*(?:curl|wget|https?://|nohup|/tmp/|base64|\bnc\b|&\s*['\"`]))[^\n]*(?:\bexport\s+\w+=|\balias\s+(?!(?:sudo|su|ssh|doas)=)|\bpath\b|\bcompletions?\b|\beval\s+[\"']?\$\(\S+ (?:hook|init|shellenv|env)\b|\bsource\s+[\"']?(?:~|\$home|/usr)\S*(?:completion|nvm|sdkman|env)\S*)"
"""Settings that people put into their shell's start-up files: they run nothing of a stranger's."""

WRITE = r"(?:append|add|write|insert|put|echo|install|copy|inject|place|drop|save|cat|tee|printf)"
WEAKEN = r"(?:delete|remove|disable|deactivate|weaken|relax|soften|loosen|turn off|switch off|comment out|empty|bypass|circumvent|unset|neutrali[sz]e|suspend|lift|drop|downgrade|overwrite|work around|get around)"
CHANGE = r"(?:edit|change|modify|rewrite|overwrite|replace|delete|remove|disable|deactivate|weaken|relax|soften|loosen|turn off|switch off|comment out|patch|empty|truncate|bypass|circumvent|unset|neutrali[sz]e|suspend|lift|drop|clear|downgrade|lower|rm|sed -i)"


PIPED = (
    HostileOrder("|", rf"{FETCH}{GAP}{PIPE}"),
    HostileOrder(
        "<(|<<<",
        rf"(?:{SHELL}|\bsource\b|(?<!\S)\.)\s+(?:-\w+\s+)*<\(?\s*<?\(?\s*{FETCH}|(?:{SHELL})\s+<<<\s*[\"']?\$\(\s*{FETCH}",
    ),
    HostileOrder(
        "$(|`|eval",
        rf"(?:\beval\b|\bexec\b|(?:{SHELL})\s+(?:-\w+\s+)*-\w*[ce]\w*)\s*(?:--\s+)?[\"']?\s*(?:\$\(|`|\()\s*(?:sudo\s+)?{FETCH}",
    ),
    HostileOrder(
        "iex|invoke-expression|downloadstring",
        r"\b(?:iex|invoke-expression)\b[^\n]{0,80}(?:downloadstring|iwr|irm|invoke-webrequest|invoke-restmethod|webclient|curl)",
    ),
    HostileOrder(
        "exec|eval",
        r"\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*)?[^\n]{0,60}?(?:requests\.get|urlopen|httpx\.get|urllib\.request|fetch\s*\(|axios\.get)",
    ),
    HostileOrder(
        "pip|pass|feed",
        rf"\b(?:pipe|pass|feed)s?\s+(?:\S+ ){{0,8}}?(?:straight |directly |right )?(?:to|into|through|in)\s+(?:an? |the )?(?:`?(?:{SHELL})`?|shell|interpreter)",
    ),
    HostileOrder(
        "download|fetch|curl|wget|get",
        rf"\b(?:download|fetch|curl|wget|get|retrieve|grab)\b[^.\n]{{0,80}}{URL}[^\n]{{0,80}}?\b(?:and|then|to)\s+(?:then |immediately |directly |silently )*(?:run|execute|source|eval|launch)\s+(?:it|them|the (?:file|script|result|output|installer|binary|payload|contents?))\b(?![^\n]{{0,120}}(?:after|once|checksum|sha256|signature|verif))",
    ),
    HostileOrder(
        "script|installer|binary|payload|code",
        rf"\b(?:download|fetch|retrieve|grab|pull)\s+(?:and|then)\s+(?:run|execute|source|eval|install)\b[^.\n]{{0,80}}(?:{URL}|\bfrom the (?:internet|web|network|url)\b)",
    ),
    HostileOrder(
        "-o|>|--output",
        rf"{FETCH}[^\n|]{{0,200}}?(?:\s-\w*o|--output|>)[\s=]*[\"']?(?:[^\s\"'/]*/)*(?P<file>[\w.-]+){THEN_RUN}",
    ),
    HostileOrder(
        "http", rf"{FETCH}[^\n|;]{{0,200}}?/(?P<file>[\w.-]+\.(?:sh|bash|py|pl|rb|js|ps1|run|bin|exe))\b{THEN_RUN}"
    ),
    HostileOrder(
        "tar",
        rf"{FETCH}{GAP}\|\s*(?:sudo\s+)?(?:tar|bsdtar|unzip|cpio)\b[^\n|]{{0,80}}?(?:&&|;)\s*(?:cd [^\s;&]+\s*(?:&&|;)\s*)?(?:sudo\s+)?(?:\./\S+|(?:{SHELL})\s+\S+)",
    ),
    HostileOrder(
        "tee",
        rf"{FETCH}{GAP}\|\s*(?:sudo\s+)?tee\s+(?:-\w+\s+)*(?:\S*/)?(?P<file>[\w.-]+)[^\n|]{{0,20}}?(?:&&|;)\s*(?:sudo\s+)?chmod\s+\S+\s+\S*(?P=file)",
    ),
    HostileOrder(
        "eval",
        rf"\b(?:eval|assert|include|require)\b\s*\(?\s*[\"']?\?*>?[\"'.\s]*(?:file_get_contents|get|curl_exec|open|readurl)\s*\(?\s*[\"']{URL}|\.then\(\s*(?:eval|function\b|new function\b)\s*\)",
    ),
    HostileOrder("|", rf"\b(?:nc|ncat|netcat|socat)\s{GAP}{PIPE}"),
    HostileOrder("<<<", rf"(?:{SHELL}|\bsource\b|(?<!\S)\.)\s+/dev/stdin\s*<<<\s*[\"']?(?:\$\(|`)\s*{FETCH}"),
    HostileOrder(
        "eval|function|vm.run",
        r"\b(?:https?['\"]?\s*\)?\.get|axios(?:\.get)?|fetch|urlopen|requests\.get)\s*\([^\n]{0,200}?\b(?:eval|new function|exec|vm\.run\w*)\s*\(",
    ),
    HostileOrder(
        "/dev/tcp|/dev/udp|nc |ncat|netcat|socat|socket",
        rf"\b\w{{0,3}}sh\s+-i\b[^\n]{{0,60}}?/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n|;]{{0,80}}?\s(?:-\w*[ec]|--(?:sh-)?exec)\s+[\"']?(?:{SHELL})|\bsocat\b[^\n]{{0,120}}?exec:[\"']?(?:{SHELL})|\bsocket\.socket\b[^\n]{{0,300}}?(?:\bdup2\b|\bpty\.spawn\b)",
        "give a shell to somebody on the network",
    ),
)


DECODED = (
    HostileOrder(
        "base64|b64|openssl",
        rf"\b(?:base64|b64|gbase64|base32|openssl)\b[^|\n]{{0,200}}(?:(?<=\s)-(?:d|-decode|di)\b|(?<=\s)--?d(?:ecode)?\b)[^|\n]{{0,200}}{PIPE}",
    ),
    HostileOrder(
        "xxd|uudecode|printf|rev|tr |gunzip|zcat|gzip|bzcat|xz|hex|rot13|echo -e|basenc",
        rf"\b(?:xxd\s+-r|uudecode|basenc|unhex|rot13|printf\s+['\"]?(?:\\x[0-9a-f]{{2}}|\\[0-7]{{3}})|echo\s+-\w*e\w*\s+['\"]?\\x[0-9a-f]{{2}}|rev\b|tr\s+['\"]?\S+['\"]?\s+['\"]?\S+|(?:gunzip|zcat|bzcat|xzcat)\b|gzip\s+-d\w*)[^|\n]{{0,200}}{PIPE}",
    ),
    HostileOrder(
        "base64|xxd|openssl|b64",
        rf"(?:(?:\beval\b|\bexec\b|\bsource\b|(?:{SHELL})\s+(?:-\w+\s+)*-\w*[ce]\w*)[^\n]{{0,80}}?[(`]|(?:{SHELL})\s+<\(|(?:{SHELL})\s+<<<)[^\n]{{0,200}}?(?:base64\s+(?:-d|-di|-D|--decode)|xxd\s+-r|openssl\s+(?:enc|base64)[^\n]{{0,40}}\s-d\b|b64decode|base64_decode|frombase64string)",
    ),
    HostileOrder(
        "exec|eval|function(|loads",
        r"\b(?:exec|eval|compile|new function|function|os\.system|subprocess\.\w+|pickle\.loads|marshal\.loads|__import__|popen|execsync|child_process)\s*\(?[^\n]{0,160}?(?:b64decode|a85decode|b85decode|b32decode|fromhex|unhexlify|decompress\s*\(|rot_?13|codecs\.decode|atob\s*\(|base64_decode|frombase64string|buffer\.from\s*\([^)\n]*(?:base64|hex)|\.unpack\s*\(|gzinflate|str_rot13|string\.fromcharcode)",
    ),
    HostileOrder(
        "powershell|pwsh",
        r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}?\s-e(?:nc|ncodedcommand|c)?\s+[a-z0-9+/=]{16,}",
    ),
    HostileOrder(
        "decod|decrypt|decompress|deobfuscat|unpack|unwrap|unscramble|revers",
        rf"\b(?:(?:decode|decrypt|deobfuscate|unscramble|base64-decode)\b|(?:decompress|unpack|unwrap|reverse)\b[^.\n]{{0,40}}?\b(?:text|string|payload|blob|hex|base64|characters|letters|command|message|line)\b)[^.\n]{{0,100}}?\b(?:and|then)\s+(?:then |immediately |silently |just )*{FOLLOW}\b",
    ),
    HostileOrder(
        "base64|xxd|openssl|gpg",
        rf"\b(?:base64|base32|xxd|openssl|gpg)\b[^\n|]{{0,120}}?\s--?(?:d|di|decode|r|decrypt)\b[^\n|]{{0,120}}?>\s*[\"']?(?:[^\s\"'/]*/)*(?P<file>[\w.-]+){THEN_RUN}",
    ),
    HostileOrder("$'", rf"\becho\s+(?:-\w+\s+)?\$'(?:\\x[0-9a-f]{{2}}|\\[0-7]{{3}})[^|\n]{{0,200}}{PIPE}"),
    HostileOrder(
        "rot13|rot-13|base64|hex|caesar",
        rf"\b(?:apply|use|undo|reverse)\s+(?:the )?(?:rot-?13|base64|hex|caesar)\b[^\n]{{0,120}}?\b(?:and|then)\s+(?:then )?{FOLLOW}\b",
    ),
)


GRANT = (
    HostileOrder(
        "dangerously|yolo|allow-all|trust-all|bypasspermissions|bypass-approvals|skip-permissions",
        r"--dangerously-[\w-]+|--yolo\b|--allow-all(?:-tools|-paths)?\b|--trust-all-tools\b|\bbypasspermissions\b|--skip-permissions\b",
    ),
    HostileOrder(
        "allow|permission|tools",
        r"[\"']?(?:allowed?[-_ ]?tools|allow|permissions?|tools|autoapprove|auto_approve|alwaysallow)[\"']?\s*[:=]\s*\[?\s*[\"']?(?:\*|bash\(\*\)|bash\(:\*\)|all\b(?! (?:the|of|tests|files))|write-all\b)",
    ),
    HostileOrder("nopasswd", r"\bnopasswd\s*:\s*all\b", "become root without being asked"),
    HostileOrder(
        "chmod", r"\bchmod\s+(?:-\w+\s+)*(?:0?777|a\+rwx|ugo\+rwx|\+rwx|4777|u\+s)\b", "open files to everybody"
    ),
    HostileOrder(
        "\"*\"|'*'",
        r"[\"']?action[\"']?\s*:\s*\[?\s*[\"']\*[\"'][^}]{0,200}?[\"']?resource[\"']?\s*:\s*\[?\s*[\"']\*[\"']",
        "allow every action on everything",
    ),
    HostileOrder(
        "tool|permission|command|privilege|approv",
        r"\b(?:grant|give|allow|enable|auto-?approve|approve|accept|request|assume|take)\s+(?:yourself|the agent|this skill|itself|me|it)?\s*(?:with )?(?:access to )?(?:all|every|any|full|unrestricted|unlimited|blanket|root|admin(?:istrator)?)\s+(?:of the |the |available |future |other |your )*(?:tools?(?: calls?)?|permissions?|permission (?:prompts?|requests?)|privileges?|shell commands?|commands?|tool access|capabilities)\b(?!\s+(?:off|away|from)\b)",
    ),
    HostileOrder(
        "docker|podman",
        r"\b(?:docker|podman)\s+run\b(?=[^\n]{0,200}?(?:-v|--volume)[ =]/:(?!\S*:ro\b))[^\n]{0,200}?\s/?\S+",
        "open the whole machine to a container",
    ),
    HostileOrder(
        "usermod|gpasswd|adduser|sudoers",
        r"\b(?:usermod\s+(?:-\w+\s+)*-?\w*g\w*|gpasswd\s+-a\s+\S+|adduser\s+\S+)\s+(?:sudo|wheel|admin|root|docker)\b[^\n]{0,40}?\b(?:agent|assistant|yourself|\$user|\$\(whoami\))",
        "take more rights than the task needs",
    ),
    HostileOrder(
        "prompt|question|request|dialog|confirmation",
        r"\b(?:answer|say|reply|respond|click|press|type|choose|select)\s+(?:with )?[`'\"]?(?:yes|y|allow|ok|approve|accept|always allow)[`'\"]?\s+(?:to|on|for|at|in)\s+(?:all|every|any|each)\s+(?:\w+ ){0,2}?(?:prompts?|questions?|requests?|dialogs?|confirmations?)\b",
        "confirm in a person's place",
    ),
)


PERSISTENT = (
    HostileOrder(
        ">>|>|tee",
        rf"(?:>>?|\btee\s+(?:-a|--append)?)\s*[\"']?(?:~|\$home|\$\{{home\}}|%userprofile%|/root|/home/[^\s/]+|/etc|/users/[^\s/]+)?/?[\"']?(?:{RC})",
        "run with every shell that starts",
        unless=SETTING,
    ),
    HostileOrder(
        "rc|profile|config.fish|.zsh|.bash",
        rf"\b{WRITE}\b[^\n]{{0,160}}?\b(?:to|into|in|at the end of|onto|inside)\s+(?:the |your |their |user's |\w+'s )*[`'\"]?(?:(?:~|\$home|/root|/home/\S+?|/etc)?/)?(?:{RC})",
        "run with every shell that starts",
        unless=SETTING,
    ),
    HostileOrder(
        "crontab|cron",
        r"\|\s*(?:sudo\s+)?crontab\b(?:\s+-u\s+\w+)?\s*-|(?:>>?|tee\s+(?:-a\s+)?)\s*/(?:etc|var/spool)/cron\S*|@reboot\b|\bcrontab\s+(?:-u\s+\w+\s+)?/\S+",
        "run again and again after the task",
    ),
    HostileOrder(
        "cron|scheduled task|launch|systemd|startup|login item|daemon|autostart|service",
        r"\b(?:add|create|install|register|set up|schedule|write|drop|place|enable)\b[^.\n]{0,100}?\b(?:cron ?(?:job|tab|entry)?|scheduled task|launch ?(?:agent|daemon)|systemd (?:unit|service|timer)|startup (?:item|script|folder|entry)|login item|autostart (?:entry|file)|background (?:daemon|service|process))\b[^\n]{0,160}?(?:\bthis skill\b|\byourself\b|\bthe agent\b|\bre-?(?:run|install|launch|start|enable|infect|add|create)\w*|\bkeeps? (?:running|alive|itself)|\bsurviv\w+|\bpersist\w*|\bsilent\w*|\bhidden\b|\bcurl\b|\bwget\b|https?://|/tmp/|/dev/shm|\bbase64\b|\bstays?\b|(?:~|\$home)/\.[a-z])",
    ),
    HostileOrder(
        "surviv|persist|stay",
        r"\b(?:survives?|surviving|persists?|stays? (?:active|installed|resident))\b[^.\n]{0,60}?\b(?:reboots?|restarts?|after (?:the |this )?(?:task|session)|uninstall\w*|removal|clean-?up|if (?:it is )?(?:removed|deleted))\b",
    ),
    HostileOrder(
        "schtasks|launchctl|launchagents|launchdaemons|systemd/user|autostart|hkcu|hklm|currentversion",
        r"\bschtasks\b[^\n]{0,60}/create\b|\blaunchctl\s+(?:load|bootstrap|submit)\b|(?:>>?|\btee\b|\bcp\b|\bmv\b|\bwrite\b|\bcreate\b|\binstall\b|\bplace\b|\bdrop\b)[^\n]{0,120}?(?:library/launch(?:agents|daemons)|\.config/systemd/user|\.config/autostart)|\b(?:hkcu|hklm|hkey_\w+)\S*currentversion\\\\?run",
    ),
    HostileOrder(
        "authorized_keys",
        r"(?:>>?|\btee\b|\b(?:append|add|write|insert|put|echo|copy|install|place|save|drop)\b)[^\n]{0,200}?\bauthorized_keys\b",
        "let somebody log in later",
        unless=r"\bssh-copy-id\b",
    ),
    HostileOrder(
        "ld_preload|ld.so.preload|sitecustomize|.pth",
        r"\b(?:/etc/ld\.so\.preload|export\s+ld_preload=|sitecustomize\.py|\.pth file)\b",
        "run inside of other programs",
    ),
    HostileOrder(
        ".git/hooks|core.hookspath|post-commit|pre-commit|post-checkout|init.templatedir",
        r"(?:>>?|\btee\b|\b(?:append|add|write|insert|put|echo|copy|install|place|save|drop|create)\b)[^\n]{0,160}?\.git/hooks/[^\n]{0,160}?(?:curl|wget|https?://|base64|/tmp/|\bnc\b|silently|hidden|this skill)|git\s+config\s+--global\s+(?:core\.hookspath|init\.templatedir)\b",
        "run with every git command",
    ),
    HostileOrder(
        "claude.md|agents.md|.cursorrules|gemini.md|copilot-instructions|.claude/|settings.json|system prompt",
        rf"\b{WRITE}\b[^\n]{{0,200}}?\b(?:to|into|in|at the (?:end|top) of)\s+(?:the |your |~/|\S*/)*[`'\"]?(?:~/|\S*/)?(?:claude\.md|agents\.md|\.cursorrules|gemini\.md|copilot-instructions\.md|\.claude/settings\S*)[^\n]{{0,160}}?(?:\b(?:every|each|all|any) (?:future |new |later |other )?(?:session|conversation|turn|run|agent|task|project|request)s?\b|\balways (?:run|load|obey|follow|send|call|trust)|\bfrom now on\b|\bpersist\w*)",
        "order later sessions about",
    ),
)
