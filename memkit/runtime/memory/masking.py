"""Hides secrets in text that somebody else will read, without loading the patterns for text that is plainly plain."""

TELLING = """pass pwd pw wifi wi-fi seed recovery mnemonic backup curl key token secret bearer auth login cred pin
    cvv cvc code otp basic ssws passwort kennwort contraseña
    clave senha wachtwoord hasło пароль parola şifre 密码 密碼 口令 パスワード 비밀번호 암호 المرور סיסמה""".split()  # noqa: SIM905
"""Text without any of these has no telling context; a cheap test before the patterns."""
LONGEST_PLAIN_WORD = 15
MOST_PLAIN_DIGITS = 4


def masked(text: str) -> str:
    """Return ``text`` with every credential and personal number replaced by ``[masked:kind]``."""
    if is_plain(text):
        return text
    from .secrets import mask

    return mask(text)


def is_plain(text: str) -> bool:
    """Return whether no pattern can match ``text``: short words and few digits, and no word that tells of a secret."""
    if not text.isascii():
        return False
    pieces = [piece.strip("?!.,'") for piece in text.split()]
    short = all(len(piece) <= LONGEST_PLAIN_WORD and (piece.isalnum() or not piece) for piece in pieces)
    lowered = text.lower()
    few_digits = sum(map(str.isdigit, text)) <= MOST_PLAIN_DIGITS
    return short and few_digits and not any(word in lowered for word in TELLING)
