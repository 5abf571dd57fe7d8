# ruff: noqa: E501, SIM905 (one row a kind reads better than wrapped rows, and lists of words better as text)
"""Patterns of credentials: the published shapes of tokens, and values revealed only by their context.

Shapes are one row per kind, written from the vendors' own descriptions of their tokens. The context consists of words
("password is …", "api key: …", "… is my password"). Randomness alone is never enough, so UUIDs, digests, sortable ids,
addresses, dates and file names pass.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from ..words.text import regex
from ..words.wording import FUNCTION_WORDS
from .landmarks import Landmarks, LongWords, words
from .personal import UUID, Span

END = r"(?![A-Za-z0-9])"
"""The end of a token; a dash or underscore after it makes no difference."""

START = r"(?<![A-Za-z0-9])"
"""The start of a token."""


class Shape:
    """One kind of credential; its pattern is compiled when a text contains one of its keywords, which is rare."""

    def __init__(self, kind: str, keywords: tuple[str, ...], expression: str) -> None:
        self.kind = kind
        self.keywords = keywords
        """Lower-case strings; every credential of this kind contains at least one, a cheap test before the pattern."""
        self._expression = expression

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of this kind of credential."""
        return re.compile(self._expression)


def _shape(kind: str, keywords: str, expression: str) -> Shape:
    return Shape(kind, tuple(keywords.split()), expression)


def _token(kind: str, keywords: str, body: str) -> Shape:
    """Build the common case: a prefix and a body of token characters, standing alone."""
    return _shape(kind, keywords, START + "(?:" + body + ")" + END)


# fmt: off
SHAPES: tuple[Shape, ...] = (
    # Keys that are blocks or parts of an address.
    _shape("private_key", "-----begin", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)"),
    _shape("putty_key", "putty-user-key-file", r"PuTTY-User-Key-File-\d[\s\S]*?(?:Private-MAC: [0-9a-f]+|\Z)"),
    _token("age_key", "age-secret-key-1", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}"),
    _shape("url_password", "://", r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{0,30}://(?!user(?:name)?:pass(?:word|wd)?@)[^\s/:@'\"<>{}$]*:[^\s/@'\"<>{}$]{3,}@[A-Za-z0-9.\[-]+"),
    _token("json_web_token", "eyj", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,})?"),
    _token("nostr_key", "nsec1", r"nsec1[02-9ac-hj-np-z]{58}"),
    _token("bitcoin_key", "xprv", r"xprv[1-9A-HJ-NP-Za-km-z]{100,}"),
    # Clouds and hosts.
    _token("aws_access_key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _token("aws_bedrock_key", "absk", r"ABSK[A-Za-z0-9+/]{90,}={0,2}"),
    _token("google_api_key", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    _token("google_oauth_token", "ya29. 1//0", r"ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{40,}"),
    _token("google_client_secret", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _shape("azure_storage_key", "accountkey=", r"(?i:AccountKey)=[A-Za-z0-9+/]{86}=="),
    _shape("azure_signature", "sig=", r"(?<![A-Za-z0-9_-])sig=[A-Za-z0-9%+/=]{40,}"),
    _shape("azure_client_secret", "8q~ 7q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
    _token("google_auth_key", "aq.ab8", r"AQ\.Ab8[A-Za-z0-9_-]{40,}"),
    _token("firebase_server_key", "aaaa", r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}"),
    _token("azure_devops_token", "azdo", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _token("tencent_secret_id", "akid", r"AKID[A-Za-z0-9]{32}"),
    _token("scalingo_token", "tk-us-", r"tk-us-[A-Za-z0-9_-]{48}"),
    _token("openshift_token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    _token("alibaba_access_key", "ltai", r"LTAI[A-Za-z0-9]{17,21}"),
    _token("digitalocean_token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _token("heroku_key", "hrku-", r"HRKU-[A-Za-z0-9_-]{30,}"),
    _token("flyio_token", "fm1 fm2 fo1_", r"(?:fm1[ar]|fm2)_[A-Za-z0-9+/=_-]{60,}|fo1_[A-Za-z0-9_-]{43}"),
    _token("netlify_token", "nfp_", r"nfp_[A-Za-z0-9]{36,}"),
    _token("render_key", "rnd_", r"rnd_[A-Za-z0-9]{28,}"),
    _token("vercel_token", "vcp_ vci_ vca_ vcr_ vck_", r"vc[piark]_[A-Za-z0-9]{24,}"),
    _token("cloudflare_key", "v1.0- cfut_ cfat_ cfk_", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|cf(?:ut|at|k)_[A-Za-z0-9]{40,}"),
    _token("scaleway_key", "scw", r"SCW[A-Z0-9]{17}"),
    _token("tailscale_key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}"),
    # Forges, registries and pipelines.
    _token("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _token("github_fine_grained_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _token("gitlab_token", "gl", r"(?:glpat|gldt|glrt|glcbt|glptt|glft|glimt|glagent|gloas|glsoat|glffct|glwt)-[A-Za-z0-9_.-]{20,}"),
    _token("gitlab_runner_token", "gr1348941", r"GR1348941[A-Za-z0-9_-]{20,}"),
    _token("bitbucket_token", "atbb", r"ATBB[A-Za-z0-9]{28,}"),
    _token("atlassian_token", "atatt3 atctt3", r"AT[AC]TT3[A-Za-z0-9_=-]{60,}"),
    _token("npm_token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("pypi_token", "pypi-ageic pypi-agena pypi-agen", r"pypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{40,}"),
    _token("rubygems_key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _token("crates_token", "cio", r"cio[A-Za-z0-9]{32}"),
    _token("nuget_key", "oy2", r"oy2[a-z0-9]{43}"),
    _token("clojars_token", "clojars_", r"CLOJARS_[a-f0-9]{60}"),
    _token("docker_token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}"),
    _token("artifactory_key", "akcp cmvmd", r"AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}"),
    _token("circleci_token", "ccipat_ cciprj_", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{10,}_[a-f0-9]{40}"),
    _token("buildkite_token", "bkua_", r"bkua_[a-f0-9]{40}"),
    _token("pulumi_token", "pul-", r"pul-[a-f0-9]{40}"),
    _token("terraform_token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    _token("vault_token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _token("doppler_token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    _token("onepassword_token", "ops_eyj a3-", r"ops_eyJ[A-Za-z0-9+/=_-]{100,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}"),
    _token("old_vault_token", "s.", r"s\.(?=[A-Za-z]*\d)(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{24}"),
    _token("harness_token", "pat. sat.", r"[ps]at\.[A-Za-z0-9_-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}"),
    _token("octopus_key", "api-", r"API-[A-Z0-9]{26}"),
    _token("infracost_key", "ico-", r"ico-[A-Za-z0-9]{32}"),
    _token("sourcegraph_token", "sgp_", r"sgp_[A-Za-z0-9_]{40,}"),
    _token("launchdarkly_key", "sdk- api- mob-", r"(?:sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _token("infisical_token", "st.", r"st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    # Language models and what serves them.
    _token("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    _token("openai_key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{20,}"),
    _token("openrouter_key", "sk-or-", r"sk-or-(?:v\d-)?[A-Za-z0-9]{32,}"),
    _token("langfuse_key", "sk-lf-", r"sk-lf-[a-f0-9-]{36}"),
    _token("langsmith_key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _token("huggingface_token", "hf_ api_org_", r"(?:hf_|api_org_)[A-Za-z0-9]{30,}"),
    _token("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _token("xai_key", "xai-", r"xai-[A-Za-z0-9]{60,}"),
    _token("perplexity_key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _token("replicate_token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _token("nvidia_key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{50,}"),
    _token("fireworks_key", "fw_", r"fw_[A-Za-z0-9]{20,}"),
    _token("pinecone_key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    _token("tavily_key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    _token("elevenlabs_key", "sk_", r"sk_[a-f0-9]{48}"),
    _token("cerebras_key", "csk-", r"csk-[a-z0-9]{40,}"),
    _token("jina_key", "jina_", r"jina_[A-Za-z0-9_-]{60}"),
    _token("voyage_key", "pa-", r"pa-[A-Za-z0-9_-]{43}"),
    _token("firecrawl_key", "fc-", r"fc-[a-f0-9]{32}"),
    _token("cursor_key", "key_", r"key_[a-f0-9]{64}"),
    _token("e2b_key", "e2b_", r"e2b_[a-f0-9]{40}"),
    # Money and shops.
    _token("stripe_key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    _token("webhook_secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    _token("square_token", "sq0 eaaa", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{60}"),
    _token("shopify_token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    _token("plaid_token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    _token("braintree_token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    _token("easypost_key", "ezak ezt", r"EZ[AT]K[A-Za-z0-9]{54}"),
    _token("flutterwave_key", "flwseck", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    _token("razorpay_key", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    _token("shippo_token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    _token("duffel_token", "duffel_", r"duffel_(?:live|test)_[A-Za-z0-9_-]{43}"),
    _token("lob_key", "live_ test_", r"(?:live|test)_(?:pub_)?[a-f0-9]{35}"),
    # Talking to people.
    _token("hubspot_token", "pat-", r"pat-(?:na|eu)\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _token("mailersend_token", "mlsn.", r"mlsn\.[a-f0-9]{64}"),
    _token("vk_token", "vk1.a.", r"vk1\.a\.[A-Za-z0-9_-]{60,}"),
    _token("slack_token", "xox", r"xox[abceoprs]-[A-Za-z0-9-]{10,}|xoxe\.xox[bp]-[A-Za-z0-9-]{20,}"),
    _token("slack_app_token", "xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[A-Za-z0-9]+"),
    _shape("slack_webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}"),
    _shape("discord_webhook", "api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{10,}/[A-Za-z0-9_-]{30,}"),
    _token("discord_token", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    _shape("teams_webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{40,}"),
    _token("telegram_token", ":", r"\d{8,11}:(?:AA[A-Za-z0-9_-]{32,33}|(?=[A-Za-z0-9_-]{0,30}[A-Z])(?=[A-Za-z0-9_-]{0,30}\d)[A-Za-z0-9_-]{35})"),
    _token("sendgrid_key", "sg.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("mailgun_key", "key-", r"key-[a-f0-9]{32}"),
    _token("mailchimp_key", "-us", r"[a-f0-9]{32}-us\d{1,2}"),
    _token("brevo_key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _token("resend_key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    _token("twilio_key", "sk", r"SK[0-9a-f]{32}"),
    _shape("zapier_webhook", "hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/\d+/[A-Za-z0-9/]+"),
    # Tools for work and for watching systems.
    _token("asana_token", "1/ 2/", r"[12]/\d{15,17}(?:/\d{15,17})?:[a-f0-9]{32}"),
    _token("contentful_token", "cfpat-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    _token("mapbox_secret_token", "sk.eyj", r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    _token("maxmind_key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    _token("readme_key", "rdme_", r"rdme_[a-z0-9]{70}"),
    _token("airtable_token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _token("linear_key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _token("notion_token", "secret_ ntn_", r"secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,}"),
    _token("figma_token", "figd_ figu_ figo", r"fig[duo][rh]?_[A-Za-z0-9_-]{40,}"),
    _token("dropbox_token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{100,}"),
    _token("postman_key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("typeform_token", "tfp_", r"tfp_[A-Za-z0-9_-]{40,}"),
    _token("grafana_token", "glsa_ glc_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}"),
    _token("newrelic_key", "nrak- nrii- nrjs- nral", r"NR(?:AK|II|JS)-[A-Za-z0-9_-]{19,32}|[a-f0-9]{36}NRAL"),
    _token("sentry_token", "sntrys_ sntryu_", r"sntrys_[A-Za-z0-9+/=_-]{60,}|sntryu_[a-f0-9]{64}"),
    _token("dynatrace_token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("databricks_token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _token("planetscale_token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _token("supabase_key", "sbp_ sb_secret_", r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}"),
    _token("frameio_key", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{64}"),
    _token("prefect_key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}"),
    _token("snyk_key", "snyk_", r"snyk_(?:uat|sat)\.[A-Za-z0-9]{8}\.[A-Za-z0-9._-]{40,}"),
    _token("sonar_token", "squ_ sqp_ sqa_", r"sq[upa]_[a-f0-9]{40}"),
    _token("facebook_token", "eaac eaab eaad eaaj eaaf", r"EAA[A-Z][A-Za-z0-9]{80,}"),
    _token("twitter_bearer", "aaaaaaaaaaaaaaaaaaaa", r"A{20,22}[A-Za-z0-9%]{60,}"),
    _token("yandex_key", "aqvn t1.", r"AQVN[A-Za-z0-9_-]{35,38}|t1\.[A-Z0-9a-z_-]{20,}\.[A-Za-z0-9_-]{80,}"),
    _token("adafruit_key", "aio_", r"aio_[A-Za-z0-9]{28}"),
)
# fmt: on
"""Every kind that the gate refuses and the mask hides by its shape alone."""


BLOCKS = {"private_key": "-----BEGIN ", "putty_key": "PuTTY-User-Key-File-"}
"""Kinds that contain spaces and line breaks, with their beginnings; no other token does."""


def shaped(text: str, long_words: LongWords) -> Iterator[Span]:
    """Yield the credentials recognised by shape, as kind, start and end."""
    for shape in SHAPES:
        if shape.kind in BLOCKS:
            for match in shape.pattern.finditer(text) if BLOCKS[shape.kind] in text else ():
                yield shape.kind, *match.span()
            continue
        for line in long_words.with_one_of(shape.keywords):
            for match in shape.pattern.finditer(long_words.text, *line):
                yield shape.kind, long_words.place(match.start()), long_words.place(match.end() - 1) + 1


STRONG = (
    r"(?:pg|db|my|user|root|admin)?pass ?words?|passwd|pwd|pass ?phrase|pass ?code|apikey"
    r"|(?:api|app|account|admin|server|auth|signing|encryption|private|master|license)[ _-]?key"
    r"|(?:access|auth|authentication|authorization|refresh|bearer|deploy|bot|session|security|api)[ _-]?token"
    r"|(?:access|secret|private)[ _-]?key|(?:t?otp|2fa|mfa)[ _-](?:seed|key)|(?:client|app|shared|webhook)?[ _-]?secret(?:[ _-]?access[ _-]?key)?|bearer"
    r"|passwort|kennwort|mot de passe|contraseña|clave secreta|senha|wachtwoord|hasło|пароль|parola|şifre|密码"
    r"|密碼|口令|パスワード|비밀번호|비번|암호|كلمة (?:المرور|السر)|סיסמה|पासवर्ड|κωδικός"
    r"|(?:chiave|clave|chave|cl[ée]|ключ)\s+(?:(?:de|da|di|d['’])\s?)?api|api[ -]?(?:schl[üu]ssel|ключ|密钥|密鑰|キー)"
)
PIN = (
    r"pin(?: code| number|[- ]?nummer)?|п[иі]н(?:-?код)?|暗証番号|geheimzahl|الرقم السري|koden? til (?:dør\w*|alarm\w*|port\w*|lås\w*)|(?:zugangs|tür|pin)-?code|cvv2?|cvc|t?otp|one[- ]time code"
    r"|(?:security|door|alarm|verification|2fa|mfa|sms|login|authentication) code"
    r"|(?:safe|lock|locker|padlock|vault) combination|combination (?:of|to|for) (?:the|my|our) (?:\w+ )?(?:safe|lock|locker|padlock|vault)"
)
STRONG_WORDS = words(
    "pass pgpass dbpass mypass userpass rootpass adminpass pwd api app account admin server auth signing encryption private"
    " master license access refresh bearer deploy bot session security secret client shared webhook otp totp 2fa mfa kennwort mot~de"
    " contraseña clave senha wachtwoord hasło пароль parola şifre 密码 密碼 口令 パスワード 비밀번호 비번 암호 كلمة סיסמה पासवर्ड"
    " κωδικός chiave chave cle clé ключ"
)
"""The beginnings of these."""
WEAK = r"token|key|credentials?|auth|login|creds?"
CURT = r"pass|pw|wi-?fi"
"""Words that reveal a value only if it clearly is not a word."""
TELLING_WORDS = STRONG_WORDS + words(
    "pin пин пін 暗証番号 geheimzahl الرقم kod zugangs tür cvv cvc otp totp one~time one-time safe door alarm verification 2fa"
    " mfa sms login lock padlock vault combination token key cred pw wifi wi-fi"
)
"""The beginnings of all of the above."""
_ELSEWHERE = (
    r"für|fürs|im|am|vom|von|zum|zur|meine[rs]|unsere[rs]|der|des|de|du|del|della|dello|do|da|dos|das|para|per|pour|van|voor|från|till|til"
    r"|dla|od|pro|k|от|для|к|из|на|за|του|της|για"
)
"""Prepositions between a telling word and its object, in other languages."""
JOIN = (
    rf"['\"’`]?(?:\s+(?:for|to|of|on|at|in|{_ELSEWHERE})\s+(?:(?!\bis\b|\bwas\b)[^\s:=,.;]+\s+){{0,5}}?(?:[^\s:=,;]+?)?)?"
    r"\s*(?:=>|->|→|:=|[:=：]|>(?=\S)|\b(?:is|was|are|equals|(?:should|must|will) be|ist|lautet|es|est|è|é|είναι|هي|है|är|er|on|je|jest|este|c['’]est|là|adalah)\b"
    r"|改成了?|改为|是|为|は|는|은)"
    r"\s*(?:(?:now|still|set to|just|this|currently|actually|always|simply|again|really|jetzt|le|la|el|il)\s*:?\s+)?"
)
VALUE = r"(?:\"(?P<dq>[^\"\n]{3,200})\"|'(?P<sq>[^'\n]{3,200})'|`(?P<bq>[^`\n]{3,200})`|(?P<bare>[^\s\"'`,;<>]{3,500}))"
EDGE = r"(?<![A-Za-z])"
CONTEXT = regex(
    rf"(?i){EDGE}(?:(?P<strong>{STRONG})|(?P<pin>{PIN})|(?P<weak>{WEAK})|(?P<curt>{CURT}))(?![A-Za-z]){JOIN}{VALUE}"
)
BEARER = regex(r"(?i)\b(?:bearer|basic|token|ssws)\s+(?P<bare>[A-Za-z0-9+/._~-]{16,}={0,2})(?![A-Za-z0-9])")
FLAG = regex(r"(?i)(?<!\S)--?(?:password|passwd|pass|token|secret|api-?key)[ =](?P<bare>[^\s\"'`]{4,})")
USER = regex(
    r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =](?P<quote>['\"]?)[^\s:'\"]{1,64}:(?P<bare>[^\s'\"]{4,})(?P=quote)(?!\S)"
)
ADJACENT = regex(rf"(?i){EDGE}(?P<strong>{STRONG})(?:['’]s)?(?:\s+(?:to|of))?\s+{VALUE}")
"""The secret follows immediately: "password hunter2", "changed the password to hunter2"."""
TURNED_ROUND = regex(
    r"(?i)(?<![^\s\"'`(<])(?P<bare>[^\s\"'`,;<>]{6,200})[\"'`]?,?\s+(?:is|as)\s+(?:my|the|our|his|her|their|your|a)\s+"
    rf"(?:[\w-]+\s+){{0,2}}?(?P<strong>{STRONG})(?![A-Za-z])"
)
VARIABLE = regex(r"(?i)[a-z_.-]*(?:passw(?:or)?d|passphrase|secret|token|api_?key|credential)[a-z_.-]*(?:\(.*|[})\]]*)")
"""Names that code gives to secrets, which are not secrets."""
CALLED = regex(r"[A-Za-z_][\w.]*[(\[]")
"""A call or lookup in code."""
CARD_CODE = regex(r"(?i)(?<![A-Za-z])(?:cvv2?|cvc)\s+(?P<bare>\d{3,4})(?!\w)")
_DIGIT = r"(?:\d|zero|oh|one|two|three|four|five|six|seven|eight|nine)"
SPELT_NUMBER = regex(
    r"(?i)\b(?:pin(?: code| number)?|pass ?code|(?:door|gate|alarm|entry|access|safe|security) code)\b(?!s)"
    rf"[^\n.;:=?\d]{{0,40}}?(?:\s(?:is|was|to)|\s?[:=])\s*(?P<bare>{_DIGIT}(?:[ -]{_DIGIT}){{3,7}})(?=\W*(?:$|[.!,;\n]))"
)
"""Digits given one by one, as figures or as words."""
SPELT_WORD = regex(
    r"(?i)\b(?:pass ?(?:word|phrase|code)|passwd|pwd)(?:[^\n.;:=?]{0,30}?\s(?:is|to)|\s?[:=])\s*"
    r"(?P<bare>[^\W_](?: [^\W_]){4,40})(?=\W*(?:$|[.!,;\n]))"
)
"""A password spelled letter by letter."""
LOCK_CODE = regex(
    r"(?i)(?:(?:^|[.;:\n]\s*|\b(?:the|my|our|your)\s+)(?:front |back |garage )?(?:door|gate|alarm|entry|safe) (?:code|keypad)"
    r"(?:\s+is\s*|\s*[:=]\s*|\s+)(?P<bare>[*#]?\d{4,8}[*#]?)(?=\W*(?:$|[.!,;\n])))"
    r"|\b(?:safe|lock|locker|padlock|vault)\s+(?:opens|unlocks)\s+(?:with|by|using|at)\s+(?P<turns>\d{1,2}(?:-\d{1,2}){2,3})(?![\w-])"
)
"""A door or safe code at the end of a sentence."""
UNSPACED_NUMBER = regex(
    r"(?:暗証番号|パスワード|密码|密碼|비밀번호|비번|암호)\s*(?:は|是|为|為|은|는|[:：])\s*(?P<bare>\d{4,8})(?=です|だ|でした|입니다|이다|예요|이에요|[。.!！\s]|$)"
)
"""Digits before the final verb of a sentence without spaces."""
POSTAL = regex(r"(?i)\b(?:postal|post|area|city|zip|delivery)\s+$")
"""Precedes a PIN code that is a postal code, as in India."""
_OF_WALLET = r"(?!(?:the|and|for|with|from|into|then|they|are|was|has|had|its|our|his|her|you)\b)[a-z]{3,8}"
PHRASE = regex(
    r"(?i)\b(?:(?:seed|recovery|mnemonic|backup)(?: |-)(?:phrase|words?)\b\W{0,3}(?:is|are)?|(?:seed|mnemonic)\s?[:=])"
    rf"\W{{0,3}}(?P<bare>{_OF_WALLET}(?:[ ,]{{1,2}}{_OF_WALLET}){{11,23}})\b"
)
"""Twelve to twenty-four words of a wallet's recovery phrase (BIP 39), which never form a sentence."""

PASSPHRASE = regex(
    r"(?i)\bpass ?(?:phrase|word)(?:\s+(?:for|of|to|on)\s+[^\n.;:=?]{1,40}?)?(?:\s*[:=]|\s+is)\s*[\"'“”‘’]?"
    r"(?P<bare>[a-z]{3,12}(?: [a-z]{3,12}){3,11})(?=\W*(?:$|[.!?\n\"”’]))"
)
"""Consecutive words without a joining word: "correct horse battery staple"."""

HEX_DIGEST = regex(r"(?:sha\d+[:-])?[0-9a-fA-F]{7,128}")
SORTABLE_ID = regex(r"[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}")
ADDRESS = regex(
    r"(?i)[a-z][a-z0-9+.-]*://\S+|(?:[\w-]+\.)+(?:com|org|net|io|dev|ai|co|de|uk|eu|fr)(?:/\S*)?|\S+@\S+\.\w+|[~.]{0,2}/\S*"
)
DATE = regex(r"\d{4}-\d\d-\d\d(?:[T ]?\S*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?")
FILE_NAME = regex(
    r"(?i)\S+\.(?:whl|py|md|txt|json|ya?ml|toml|pdf|png|jpe?g|zip|gz|tar|csv|log|env|pem|key|kdbx?|cfg|ini)"
)
VERSIONED = regex(r"(?i)[a-z][a-z0-9]*(?:[-_.][a-z0-9.]+)*[-_.]v?\d+(?:\.\d+)*[a-z]?")
PLACEHOLDER = regex(
    r"<[^>]*>|\$\{?[A-Z_][A-Z0-9_]*\}?|%[A-Z_]+%|\{.*\}|\[masked:.*|\*+|[x•.…_-]+"
    r"|(?i:(?:.*[\W_])?(?:your|example|placeholder|redacted|changeme|dummy|hidden|environ|getenv|env)(?:[\W_].*)?)"
)
ORDINARY = frozenset(
    """safe strong weak long short secret required optional missing wrong incorrect correct invalid valid empty
    blank unknown important different difficult easy simple random unique public private personal shared same
    there here this that these those what which everything nothing something anything none null true false
    always never only also still secure insecure fine okay good better best bad hard great case-sensitive
    needed impossible possible available unavailable necessary mandatory temporary permanent master forgotten
    written hidden broken stolen known given taken shown gone lost kept set reset about after before under
    above below inside outside between behind stronger weaker longer shorter compromised passwordless
    alphanumeric numeric case-insensitive obligatoire requis obligatoria obligatorio requerida erforderlich vereist
    wymagane falsch vergessen incorrecta incorrecto his hers theirs mine yours ours not too very enough""".split()
)
JOINING = FUNCTION_WORDS | ORDINARY | {"characters", "letters", "words", "digits", "days", "times"}
"""Words showing that what follows a telling word is a sentence."""
ORDINARY_ENDING = regex(r"(?:ed|ing|ly|able|ible|tion|ness|ment)$")
ENGLISH = regex(r"(?i)pass ?(?:words?|phrase|code)|passwd|pwd")
ELSEWHERE_JOINED = regex(r"(?:\b(?:ist|est|está|är|er)|è|é)\s+$")
ELSEWHERE_ORDINARY = regex(
    r"(?:lich|ig|bar|isch|iert|los|frei|té|tée|ré|rée|é|ée|ado|ada|ido|ida|ato|ata|uto|uta|oso|osa|ivo|iva|ile|oire|aire|orio|oria)$"
    r"|^ge\w+(?:t|en)$|^(?:un|in|ver|ab|zurück)\w+(?:t|en|a|o|e|u)$|^(?:kurz|lang|leer|geheim|sicher|richtig|korrekt|court|vide|faible|fort|correct"
    r"|segura|débil|larga|corta|vacía|válida|scaduta|sicura|debole|lunga|vuota|valida|fraca|forte|longa|curta|vazia|verlopen|veilig|zwak|kort|leeg|verplicht"
    r"|короткий|длинный|простой|сложный|неверный|верный|устарел|забыт|utgått|fel|rätt|forkert|väärä|nesprávné|správné|błędne|ważne)$"
)
"""Descriptions of a password in other languages, recognised by ending or as whole words."""
TECHNICAL = regex(
    r"(?i)(?:sha|md|utf|base|rfc|http|oauth|tls|ssl|aes|rsa|pbkdf|argon|bcrypt|scrypt|ipv|x|win|windows|s|ec|ed|iso|wpa)"
    r"[_-]?v?\d+(?:[-_.][a-z0-9]+)*s?"
)
"""Names of technologies, which contain digits like passwords."""
KEY_LIKE = regex(rf"{UUID.pattern}|[0-9a-f]{{32,64}}|(?=\d*[a-f])[0-9a-f]{{16,31}}")
"""Harmless by itself, but a key if the preceding word says so; a short run of digits alone is a number."""
UNSPACED = regex(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts without spaces, in which the rest of the sentence follows where other scripts have a word."""
COUNTED = regex(r"\d{1,4}\s?(?:文字|桁|位|年|月|日|個|个|回|分|자|글자|년|월|일|회)")
"""Counts in such scripts: letters, digits, years."""
COMBINATION = regex(r"\d{1,2}(?:-\d{1,2}){2,3}")
"""The combination of a lock."""
OWNED = regex(r"(?i)\b(?:my|our|his|her|their)\b[\w\s-]{0,30}$")
OWNER = 40
"""How many characters before a telling word are searched for its owner."""
ENDS = regex(r"[.!?,;\n]|\s*\Z")
ASSIGNED = regex(r"[A-Z_]{4}=[\"']?$")
"""An environment variable directly before its value."""
GOES_ON = regex(r"(?i)\s*(?:and|but)\s")


def in_context(marks: Landmarks) -> Iterator[Span]:
    """Yield the secrets revealed by the words around them, as kind, start and end."""
    yield from _joined(marks)
    yield from _beside(marks)
    yield from _as_arguments(marks)


def _joined(marks: Landmarks) -> Iterator[Span]:
    end = 0
    for place in marks.of(TELLING_WORDS):
        match = CONTEXT.match(marks.text, place) if place >= end else None
        if match is None:
            continue
        group = next(name for name in ("dq", "sq", "bq", "bare") if match[name])
        value = match[group].rstrip(".!?:)") if group == "bare" else match[group]
        kind = "pin" if match["pin"] else "token" if match["weak"] else "password"
        if re.search(r"(?i)key|token|secret|bearer", match["strong"] or ""):
            kind = "key"
        # If a value is not a secret, the words in between may themselves be telling: "the key is password=…".
        if _gives_away(match, value, group):
            yield kind, match.start(group), match.start(group) + len(value)
            end = match.end(group)


def _beside(marks: Landmarks) -> Iterator[Span]:
    """Yield values directly before or after a telling word, without a verb, that cannot be words themselves."""
    for match in chain(marks.matches(ADJACENT, STRONG_WORDS), _turned_round(marks)):
        group = next(name for name in match.groupdict() if name != "strong" and match[name])
        value = match[group].rstrip(".!?:)") if group == "bare" else match[group]
        if _stands_out(value, match["strong"]):
            kind = "password" if "pass" in match["strong"].lower() else "key"
            yield kind, match.start(group), match.start(group) + len(value)
    for match in marks.matches(PASSPHRASE, words("pass")):
        first, *others = match["bare"].lower().split()
        if first not in FUNCTION_WORDS and not ORDINARY_ENDING.search(first) and not JOINING & set(others):
            yield "password", match.start("bare"), match.end("bare")
    for kind, pattern, beginnings in _WHOLE:
        for match in marks.matches(pattern, beginnings):
            yield kind, match.start("bare"), match.end("bare")
    for lock in marks.matches(_OF_LOCK, _LOCKS):
        for match in marks.matches_before(LOCK_CODE, lock.start(), 3):
            group = "bare" if match["bare"] else "turns"
            yield "pin", match.start(group), match.end(group)


def _turned_round(marks: Landmarks) -> Iterator[re.Match[str]]:
    for place in marks.of(STRONG_WORDS):
        if marks.text[place - 1 : place].isspace():
            yield from marks.matches_before(TURNED_ROUND, place, 5, frozenset({"is", "as"}))


_LOCKS = words("door gate alarm entry safe lock padlock vault")
_OF_LOCK = regex(
    r"(?i)(?:door|gate|alarm|entry|safe) (?:code|keypad)|(?:safe|lock|locker|padlock|vault)\s+(?:opens|unlocks)"
)
"""The core of such a statement; the owner of the lock precedes it."""
_WHOLE = (
    ("recovery_phrase", PHRASE, words("seed recovery mnemonic backup")),
    ("pin", CARD_CODE, words("cvv cvc")),
    ("pin", SPELT_NUMBER, words("pin pass door gate alarm entry access safe security")),
    ("pin", UNSPACED_NUMBER, words("暗証番号 パスワード 密码 密碼 비밀번호 비번 암호")),
    ("password", SPELT_WORD, words("pass pwd")),
)
"""Patterns whose value is a secret wherever they match."""
_ARGUMENTS = (
    ("token", BEARER, words("bearer basic token ssws")),
    ("password", FLAG, words("-pass --pass -token --token -secret --secret -api --api")),
    ("password", USER, words("curl")),
)
CREDENTIAL_WORDS = tuple({*TELLING_WORDS, *_LOCKS, *chain.from_iterable(row[2] for row in (*_WHOLE, *_ARGUMENTS))})
"""The beginnings of everything recognised by context."""


def _stands_out(value: str, word: str) -> bool:
    if PLACEHOLDER.fullmatch(value) or TECHNICAL.fullmatch(value):
        return False
    if "pass" not in word.lower():
        return bool(KEY_LIKE.fullmatch(value)) or (not is_harmless(value) and looks_random(value, 16))
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return mixed and len(value) >= 6 and not is_harmless(value)


def _as_arguments(marks: Landmarks) -> Iterator[Span]:
    """Yield the secrets in commands and headers: a bearer token, ``--password …``, ``-u name:…``."""
    for kind, pattern, beginnings in _ARGUMENTS:
        for match in marks.matches(pattern, beginnings):
            value = match["bare"].rstrip(".!?:)")
            if not is_harmless(value) and (kind == "password" or looks_random(value, 16)):
                yield kind, match.start("bare"), match.start("bare") + len(value)


def _gives_away(match: re.Match[str], value: str, group: str) -> bool:
    if PLACEHOLDER.fullmatch(value) or VARIABLE.fullmatch(value):
        return False
    if match["pin"]:
        if POSTAL.search(match.string, max(0, match.start() - OWNER), match.start()):
            return False
        return (value.isdigit() and 3 <= len(value) <= 8) or COMBINATION.fullmatch(value) is not None
    if match["weak"]:
        is_key = "token" in match["weak"].lower() and bool(KEY_LIKE.fullmatch(value))
        return is_key or (not is_harmless(value) and not CALLED.match(value) and looks_random(value, 16))
    if match["curt"]:
        return _stands_out(value, "pass")
    if group == "bare" and UNSPACED.search(value) and not re.search(r"[A-Za-z0-9]", COUNTED.sub("", value)):
        return False
    if ADDRESS.fullmatch(value) or DATE.fullmatch(value) or FILE_NAME.fullmatch(value):
        return False
    if _is_mixed(value) and len(value) >= 4:
        return True
    return _is_odd_word(match, value, group)


def _is_mixed(value: str) -> bool:
    """Return whether ``value`` mixes character classes as no word does."""
    inner = value.strip("'\"()")
    letters_and_more = (
        any(char.isalpha() for char in inner),
        any(char.isdigit() for char in inner),
        bool(re.search(r"[^\w\s'’.,/-]|_", inner)),
        bool(re.search(r"[a-z][A-Z]", inner)),
    )
    return sum(letters_and_more) >= 2 or (inner.isdigit() and len(inner) >= 4)


def _is_odd_word(match: re.Match[str], value: str, group: str) -> bool:
    """Return whether a plain word stands where only the secret itself can stand."""
    if len(value) < 4 or value.lower() in ORDINARY or ORDINARY_ENDING.search(value.lower()):
        return False
    if group != "bare":
        return True
    elsewhere = not ENGLISH.search(match["strong"]) or ELSEWHERE_JOINED.search(
        match.string, match.start(), match.start(group)
    )
    if elsewhere and ELSEWHERE_ORDINARY.search(value.lower()):
        return False
    text, start, end = match.string, match.start(), match.start(group) + len(value)
    ends_sentence = ENDS.match(text, end)
    # Only the vicinity is searched: a text may mention passwords a thousand times.
    begins_another = OWNED.search(text, max(0, start - OWNER), start) and GOES_ON.match(text, end)
    if len(value) > 5 and ASSIGNED.search(text, max(0, match.start(group) - OWNER), match.start(group)):
        return True
    return "pass" in match["strong"].lower() and bool(ends_sentence or begins_another)


def is_harmless(value: str) -> bool:
    """Return whether ``value`` is a UUID, digest, sortable id, address, date, file name or version."""
    shapes = (UUID, HEX_DIGEST, SORTABLE_ID, ADDRESS, DATE, FILE_NAME, VERSIONED)
    return any(shape.fullmatch(value) for shape in shapes) or bool(PLACEHOLDER.fullmatch(value))


def looks_random(value: str, least: int) -> bool:
    """Return whether ``value`` is long, has letters and digits, and uses many different characters."""
    if len(value) < least or not (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
        return False
    return entropy(value) > 3.0


def entropy(value: str) -> float:
    """Return the entropy of ``value`` in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())
