"""What counts as a secret, what does not, and that nothing of a secret survives masking."""

import json
import random
import string
from pathlib import Path

import pytest
from growth import grows_with_its_length
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.gate.personal import is_card, is_iban, luhn
from memkit.runtime.memory.gate.secrets import (
    CONTACT,
    HIDDEN,
    OWN_WORD,
    SPEAKING,
    TELLING,
    find_secrets,
    is_plain,
    mask,
)

RANDOM = random.Random(7)


def letters(size: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Return random letters."""
    return "".join(RANDOM.choice(alphabet) for _ in range(size))


def hexes(size: int) -> str:
    """Return random hexadecimal digits."""
    return letters(size, "0123456789abcdef")


def card(prefix: str, length: int) -> str:
    """Return a number with this beginning and the right check digit."""
    body = prefix + letters(length - len(prefix) - 1, string.digits)
    return next(body + digit for digit in string.digits if luhn(body + digit))


TOKENS = {
    "aws_access_key": "AKIA" + letters(16, string.ascii_uppercase + "234567"),
    "github_token": "ghp_" + letters(36),
    "github_fine_grained_token": "github_pat_" + letters(22) + "_" + letters(59),
    "gitlab_token": "glpat-" + letters(20),
    "slack_token": "xoxb-123456789012-" + letters(24),
    "stripe_key": "sk_live_" + letters(24),
    "openai_key": "sk-proj-" + letters(48),
    "anthropic_key": "sk-ant-api03-" + letters(93),
    "google_api_key": "AIza" + letters(35),
    "huggingface_token": "hf_" + letters(34),
    "npm_token": "npm_" + letters(36),
    "pypi_token": "pypi-AgEIcHlwaS5vcmc" + letters(60),
    "sendgrid_key": f"SG.{letters(22)}.{letters(43)}",
    "twilio_key": "SK" + hexes(32),
    "digitalocean_token": "dop_v1_" + hexes(64),
    "databricks_token": "dapi" + hexes(32),
    "shopify_token": "shpat_" + hexes(32),
    "vault_token": "hvs." + letters(24),
    "telegram_token": "123456789:AA" + letters(33),
    "json_web_token": f"eyJ{letters(20)}.eyJ{letters(30)}.{letters(30)}",
    "url_password": f"postgres://app:{letters(12)}@db.internal",
    "linear_key": "lin_api_" + letters(40),
    "mailchimp_key": hexes(32) + "-us12",
    "cloudflare_key": "cfut_" + letters(40),
    "azure_storage_key": f"AccountKey={letters(86)}==",
    "google_oauth_token": "ya29." + letters(60),
    "google_client_secret": "GOCSPX-" + letters(28),
    "heroku_key": "HRKU-" + letters(60),
    "mailgun_key": "key-" + hexes(32),
    "square_token": "sq0atp-" + letters(22),
    "discord_token": f"M{letters(23)}.{letters(6)}.{letters(38)}",
    "slack_webhook": f"https://hooks.slack.com/services/T{letters(8)}/B{letters(8)}/{letters(24)}",
    "openssh_key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk5\n-----END OPENSSH PRIVATE KEY-----",
    "bitcoin_key": "xprv" + letters(107, "123456789abcdefghijkmnopqrstuvwxyz"),
    "azure_devops_token": f"{letters(76)}AZDO{letters(4)}",
    "asana_token": f"2/{letters(16, '123456789')}/{letters(16, '123456789')}:{hexes(32)}",
    "contentful_token": "CFPAT-" + letters(43),
    "duffel_token": "duffel_live_" + letters(43),
    "e2b_key": "e2b_" + hexes(40),
    "firebase_server_key": f"AAAA{letters(7)}:{letters(140)}",
    "firecrawl_key": "fc-" + hexes(32),
    "google_auth_key": "AQ.Ab8" + letters(46),
    "harness_token": f"pat.{letters(22)}.{hexes(24)}.{letters(20)}",
    "hubspot_token": "pat-na1-12345678-ab12-cd34-ef56-1234567890ab",
    "infracost_key": "ico-" + letters(32),
    "jina_key": "jina_" + letters(60),
    "launchdarkly_key": "sdk-12345678-ab12-cd34-ef56-1234567890ab",
    "lob_key": "live_" + hexes(35),
    "mailersend_token": "mlsn." + hexes(64),
    "mapbox_secret_token": f"sk.eyJ{letters(60)}.{letters(22)}",
    "maxmind_key": f"{letters(6)}_{letters(29)}_mmk",
    "octopus_key": "API-" + letters(26, string.ascii_uppercase + string.digits),
    "old_vault_token": "s." + letters(22) + "a7",
    "openshift_token": "sha256~" + letters(43),
    "readme_key": "rdme_" + letters(70, string.ascii_lowercase + string.digits),
    "scalingo_token": "tk-us-" + letters(48),
    "sourcegraph_token": f"sgp_{hexes(16)}_{hexes(40)}",
    "tencent_secret_id": "AKID" + letters(32),
    "vk_token": "vk1.a." + letters(80),
    "voyage_key": "pa-" + letters(43),
    "zapier_webhook": "hooks.zapier.com/hooks/catch/1234567/abcdefg",
    "age_key": "AGE-SECRET-KEY-1" + letters(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----",
    "card_number": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "social_security_number": "078-05-1120",
    "brazilian_cpf": "529.982.247-25",
    "swiss_ahv": "756.9217.0769.85",
}

IN_CONTEXT = [
    ("the page token is 9f86d081884c7d65", "9f86d081884c7d65"),
    ("the token is 123456789012345a", "123456789012345a"),
    ("my password is hunter2", "hunter2"),
    ("Password: Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("the wifi password is swordfish.", "swordfish"),
    ("my password for the bank is correct-horse-7", "correct-horse-7"),
    ('passphrase is "correct horse battery staple"', "correct horse battery staple"),
    ("DB_PASSWORD=swordfish9", "swordfish9"),
    ("api_key=abcdef123456", "abcdef123456"),
    ("The API key is 550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
    ("Authorization: Bearer abcDEF1234567890xyz", "abcDEF1234567890xyz"),
    ("the token for staging is 9f8a7b6c5d4e3f2a1b0cZZ", "9f8a7b6c5d4e3f2a1b0cZZ"),
    ("mysql --password hunter22", "hunter22"),
    ("her PIN is 4821", "4821"),
    ("the door code is 90210", "90210"),
    ("пароль: qwerty12", "qwerty12"),
    ("mein Passwort ist Geheim99", "Geheim99"),
    ("密码是abc12345", "abc12345"),
    ("my ssn is 219099999", "219099999"),
    ("the password hunter22 works", "hunter22"),
    ("the password's hunter22", "hunter22"),
    ("she changed the password to kestrel7", "kestrel7"),
    ("use hunter22 as the password", "hunter22"),
    ("hunter22 is my password", "hunter22"),
    ("my password is swordfish and my dog is Rex", "swordfish"),
    ("the admin password should be Tr0ub4dor", "Tr0ub4dor"),
    ("<password>hunter22</password>", "hunter22"),
    ("PGPASSWORD=hunter22 psql", "hunter22"),
    ("pw: hunter22", "hunter22"),
    ("my pass is hunter22", "hunter22"),
    ("wifi: sunshine99", "sunshine99"),
    ("curl -u admin:hunter22 https://example.org", "hunter22"),
    ("aws_secret_access_key wJalrXUtnFEMIK7MDENGbPxRfiCYzz9", "wJalrXUtnFEMIK7MDENGbPxRfiCYzz9"),
    ("the api key 550e8400-e29b-41d4-a716-446655440000 expired", "550e8400-e29b-41d4-a716-446655440000"),
    ("auth token 9e107d9d372bb6826bd81d3542a419d6", "9e107d9d372bb6826bd81d3542a419d6"),
    ("X-Auth-Key: c2547eb745079dac9320b638f5e225cf483cc5cf", "c2547eb745079dac9320b638f5e225cf483cc5cf"),
    ("cvv 123", "123"),
    (
        "my seed phrase is legal winner thank year wave sausage worth useful legal winner thank yellow",
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
    ),
    ("mein Passwort lautet Sonne123!", "Sonne123"),
    ("algolia admin key: 3fd7549f1edc31a73e3b60c17b82e01f", "3fd7549f1edc31a73e3b60c17b82e01f"),
    ("gitea token: 07224c1108906525a6012a5d4b292647a85327a7", "07224c1108906525a6012a5d4b292647a85327a7"),
    ("Authorization: SSWS 004IjJ4QqpOpl76jSRlqBFOCTplA9Hc3jlVYxLmaXs", "004IjJ4QqpOpl76jSRlqBFOCTplA9Hc3jlVYxLmaXs"),
    ("2FA code: 481516", "481516"),
    ("my passphrase is correct horse battery staple.", "correct horse battery staple"),
    ("secret access key: wJalrXUtnFEMIK7MDENGbPxRfiCYzz9", "wJalrXUtnFEMIK7MDENGbPxRfiCYzz9"),
]

HARMLESS = [
    "page token: 1234567890123456",
    "The next page token is 20240101120000123",
    "The order token is 4200000000000017",
    "A passphrase of six words is enough.",
    "The password is stored in the vault.",
    "password sha256 digests are salted",
    "Use base64 as the password encoding",
    "the passwords of 2019 were reset",
    "pass: 1200, fail: 3",
    "The password is short and the user knows it",
    "My password is long and hard to type",
    "the wifi is on channel 11",
    "add the recovery words to the list of things to print before we leave for the long winter trip",
    "run sort -u names:first",
    "the secret to a good soup is patience",
    "the api key to 2 services",
    "My password is too long.",
    "Alice forgot her password again",
    "The password is important.",
    "The wifi password is on the fridge",
    "Her favourite password manager is Bitwarden",
    "password policy: 12 characters",
    "The API key is required",
    "The api key is rotated every 90 days",
    "api_key = os.environ['API_KEY']",
    "password: <your password>",
    "PASSWORD=$DB_PASSWORD",
    "The token limit is 8000",
    "The key is to listen",
    "the key is under the mat",
    "The secret is patience.",
    "The PIN is on a note",
    "Her login is alice@example.com",
    "the commit is 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "key: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "record 01JD2Z5X8Y7W6V5T4S3R2Q1P0N",
    "session key: 01JD2Z5X8Y7W6V5T4S3R2Q1P0N",
    "token id is 550e8400-e29b-41d4-a716-446655440000",
    "12345678-1234-1234-1234-123456789012",
    "see https://example.com/a/b?c=d1234567890abcdef",
    "numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl",
    "the model is gpt-4o-2024-08-06",
    "call +1 555 123 4567",
    "it was on 2026-11-21T09:00:00Z",
    "timestamps like 1700000000000 and 1700000000123",
    "order 1234567890123456",
    "密码是必填项。",
    "パスワードは変更されました。",
    "scores: 52 34 89 12 45 67 90 23 71 17",
    "the cache key is 5d41402abc4b2a76b9719d911017c592",
    "The password policy is twelve characters minimum length",
    "The passphrase is longer than twelve words now",
    "The password is usually the name of her cat",
    "see section 4.2.1 on page 123-45",
    "scikit-learn, sk-learn and task-force-of-the-twentieth-century",
]


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("frame", ["{}", "it is {}.", "key={}\nnext", '{{"k": "{}"}}', "({}), then", "**{}**"])
def test_published_shapes_are_found(kind: str, frame: str) -> None:
    """A credential or number of a published shape is found in any surroundings and hidden by the mask."""
    text = frame.format(TOKENS[kind])

    assert find_secrets(text)
    assert TOKENS[kind] not in mask(text)


@pytest.mark.parametrize(("text", "secret"), IN_CONTEXT)
def test_a_telling_context_gives_a_secret_away(text: str, secret: str) -> None:
    """What follows "password is" or "api key:" is a secret whatever its shape, and only that is hidden."""
    masked = mask(text)

    assert secret not in masked
    assert masked.partition("[masked:")[0] == text.partition(secret)[0]


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_no_secret(text: str) -> None:
    """Identifiers, digests, addresses, dates, file names and talk about passwords are left alone."""
    assert mask(text) == text


@pytest.mark.parametrize(
    ("prefix", "length"), [("4", 16), ("4", 13), ("51", 16), ("2221", 16), ("34", 15), ("6011", 16), ("36", 14)]
)
def test_cards_of_every_network_are_found(prefix: str, length: int) -> None:
    """A card number is found whole, in groups of four, and next to other numbers; one wrong digit makes it harmless."""
    number = card(prefix, length)
    grouped = " ".join(number[start : start + 4] for start in range(0, length, 4))
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)

    assert is_card(number)
    assert not any(part in mask(f"12 {grouped} 7") for part in (grouped,))
    assert find_secrets(f"card {number}.")
    assert not is_card(wrong)


@pytest.mark.parametrize(
    "written",
    [
        "4111‑1111‑1111‑1111",
        "4111–1111–1111–1111",
        "4111 - 1111 - 1111 - 1111",
        "4111  1111  1111  1111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "３７８２ ８２２４６３ １０００５",
        "٤١١١١١١١١١١١١١١١",
        "411111 1111111111",
    ],
)
def test_a_card_is_found_however_it_is_written(written: str) -> None:
    """Dashes of every kind, wide gaps and digits of other scripts hide no number."""
    assert mask(f"Pay with {written}, please") == "Pay with [masked:card_number], please"


def test_a_list_of_numbers_is_no_card() -> None:
    """Numbers that are not grouped as on a card are numbers, whatever their digits add up to."""
    lists = [" ".join(str(RANDOM.randint(1, 99)) for _ in range(RANDOM.randint(5, 14))) for _ in range(1000)]

    assert [numbers for numbers in lists if find_secrets(f"Scores: {numbers}")] == []


def test_a_social_security_number_may_have_dots() -> None:
    """As with blanks or dashes, in whatever digits."""
    assert mask("123.45.6789 or １２３-４５-６７８９") == " or ".join(["[masked:social_security_number]"] * 2)


def test_random_digits_are_rarely_taken_for_cards() -> None:
    """The checksum and the networks' beginnings leave few random numbers of sixteen digits."""
    numbers = [letters(16, string.digits) for _ in range(2000)]

    assert sum(map(is_card, numbers)) / 2000 < 0.05


@pytest.mark.parametrize("iban", ["DE89370400440532013000", "GB82WEST12345698765432", "FR1420041010050500013M02606"])
def test_account_numbers_are_found_however_grouped(iban: str) -> None:
    """An account number is found in capitals or not, in groups or not; a wrong digit makes it harmless."""
    grouped = " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))

    assert [find_secrets(text)[0].kind for text in (iban, grouped, iban.lower(), f"to {grouped}.")] == ["iban"] * 4
    assert not is_iban(iban[:-1] + ("0" if iban[-1] != "0" else "1"))


@pytest.mark.parametrize("gap", ["\u200b", "\u2060", "\u00ad", "\ufeff"])
def test_invisible_characters_do_not_hide_a_secret(gap: str) -> None:
    """A credential with invisible characters inside, or in full-width letters, is found and masked whole."""
    token = TOKENS["github_token"]
    broken = token[:10] + gap + token[10:]
    wide = "".join(chr(ord(char) + 0xFEE0) for char in token)

    assert mask(f"a {broken} b") == "a [masked:github_token] b"
    assert mask(f"a {wide} b") == "a [masked:github_token] b"


secret_texts = st.sampled_from(sorted(TOKENS.values()) + [text for text, _ in IN_CONTEXT])
mixed = st.lists(st.one_of(secret_texts, st.text(max_size=30), st.sampled_from([" ", "\n", ": ", "is "])), max_size=6)


@settings(max_examples=150, deadline=None)
@given(mixed.map("".join))
def test_no_secret_shape_survives_the_mask(text: str) -> None:
    """Masked text holds nothing that the finder finds, and masking it again changes nothing."""
    masked = mask(text)

    assert find_secrets(masked) == []
    assert mask(masked) == masked


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), secret_texts, st.text(max_size=200))
def test_findings_are_in_order_and_within_the_text(before: str, secret: str, after: str) -> None:
    """Findings do not overlap, come left to right and lie within the text."""
    text = f"{before} {secret} {after}"
    places = [place for finding in find_secrets(text) for place in (finding.start, finding.end)]

    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


def test_a_long_text_is_searched_quickly() -> None:
    """Nothing in a text makes the search for secrets take more than time in proportion to its length."""
    parts = ["password ", "password is ", "is ", "a", "1 ", "eyJ", "://", "-"]

    assert [part for part in parts if not grows_with_its_length(find_secrets, part, 24_000)] == []


PIECES = st.text("abcxyz ABZ 0123 ?.,:;'()`", max_size=15) | st.sampled_from(
    [*TOKENS.values(), "pin", "password", "key", "user", "secret"]
)
JOINED = st.from_regex(
    r"(?:sk|pk|rk|ghp|glpat|xoxb|hf|npm|AKIA|call|key|eyJ|01)[-_.]?[A-Za-z0-9_-]{1,40}", fullmatch=True
)
"""What begins like a token, or like an id of memkit, and goes on anyhow."""
OWN = st.from_regex(OWN_WORD, fullmatch=True) | st.builds(
    lambda word, rest: f"01M{word}{rest}"[:26],
    st.sampled_from(["PW", "7Z", "PASS", "PWD", "KEY", "RAR", "PASSWPASSW", "SECRET", "AKSA", "0"]),
    st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=23, max_size=23),
)
NEAR_OWN = st.builds("".join, st.lists(OWN | JOINED | st.sampled_from([*"-_.:=@/+", "“", "”", "[", "]"]), max_size=4))


BETWEEN = st.sampled_from([" ", "\n", "", "-", "[", "“", "': '"])


@given(st.lists(PIECES | OWN | JOINED | NEAR_OWN, max_size=12), BETWEEN)
def test_plain_text_needs_no_pattern(pieces: list[str], between: str) -> None:
    """Where the cheap test calls a text plain, the patterns find nothing in it; memkit's own words are plain."""
    text = between.join(pieces)

    if is_plain(text):
        assert find_secrets(text, HIDDEN | {CONTACT}) == []


@given(
    OWN, st.sampled_from(sorted(TOKENS)), st.sampled_from(["{}", "[{}]", "“{}”", "(stored: {})", "{{'text': '{}'}}"])
)
def test_a_token_beside_words_of_memkit_is_not_plain(own: str, kind: str, around: str) -> None:
    """A credential stays one wherever memkit's own words stand, joined to them or not."""
    token = TOKENS[kind]

    assert not any(
        is_plain(around.format(text)) for text in (token, f"{own} {token}", f"{own}-{token}", f"{token}-{own}")
    )


@given(OWN, st.sampled_from(["[{}]", "“{}”", "(stored: {})", "Noted: “My cat is called Max”. {}", "[called {}]"]))
def test_what_memkit_writes_beside_words_is_plain(own: str, around: str) -> None:
    """An id or a tool's name is no reason to look for secrets, unless chance spells a word that tells of one."""
    tells = any(word in own.lower() for word in (*TELLING, *SPEAKING))

    assert is_plain(around.format(own)) or tells


def test_texts_that_were_written_without_the_rules_at_hand_are_told_apart() -> None:
    """Two sets keep what was seen of them; ``{+}`` keeps made-up tokens from looking like real ones to others."""
    lines = (Path(__file__).parent / "secret_sets.jsonl").read_text(encoding="utf-8").splitlines()
    rows = list(map(json.loads, lines))
    wrong = [
        row["text"]
        for row in rows
        if bool(find_secrets(row["text"].replace("{+}", ""))) != (row["kind"] not in ("plain", "not seen"))
    ]

    assert len(rows) >= 600
    assert wrong == []
    assert sum(row["kind"] in ("not seen", "taken though plain") for row in rows) <= 4
