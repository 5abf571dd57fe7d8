# ruff: noqa: E501 (one row a kind reads better than wrapped rows)
"""The published shapes of credentials: one row per kind, written from the vendors' own descriptions of their tokens."""

import re
from functools import cached_property

END = r"(?![A-Za-z0-9])"
"""Where a token stops; a dash or underscore after it does not save it."""

START = r"(?<![A-Za-z0-9])"
"""Where a token may start."""


class Shape:
    """One kind of credential; its pattern is compiled when a text holds one of its keywords, which most never do."""

    def __init__(self, kind: str, keywords: tuple[str, ...], expression: str) -> None:
        self.kind = kind
        self.keywords = keywords
        """Lower-case text of which at least one is in every credential of this kind; a cheap test before the pattern."""
        self._expression = expression

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return what a credential of this kind looks like."""
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
    _shape("url_password", "://", r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@'\"<>{}$]*:[^\s/@'\"<>{}$]{3,}@[A-Za-z0-9.\[-]+"),
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
    _token("telegram_token", ":aa", r"\d{8,10}:AA[A-Za-z0-9_-]{32,33}"),
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
