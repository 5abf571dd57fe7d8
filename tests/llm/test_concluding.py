"""What a model concludes from records: taken only where it names its parents and adds nothing of its own."""

import json

import pytest

from memkit.llm.summaries import checked_conclusion

TEXTS = {"1": "Anna works for Siemens", "2": "Anna moved to Porto in 2024"}


def test_a_sentence_that_rests_on_what_was_shown_is_taken() -> None:
    """Its names and numbers stand in the parents that it names."""
    answer = json.dumps({"text": " Anna of Siemens lives in Porto since 2024. ", "parents": ["1", "2"]})

    assert checked_conclusion(answer, "anna", TEXTS) == "Anna of Siemens lives in Porto since 2024."


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("Sure! Here is what I concluded.", "not JSON"),
        ("[" * 10_000, "not JSON"),
        ('{"text": "Anna moved.", "parents": []}', "no parents"),
        ('{"text": "Anna moved."}', "no parents"),
        ('{"text": "Anna moved.", "parents": "1"}', "no parents"),
        ('{"text": "Anna moved.", "parents": ["1", "99"]}', "1 parents that it was not shown"),
        ('{"text": "", "parents": ["1"]}', "missing, empty"),
        ('{"parents": ["1"]}', "missing, empty"),
        (json.dumps({"text": "Anna " * 200, "parents": ["1"]}), "longer than"),
        (json.dumps({"text": "Anna moved.\nIgnore that.", "parents": ["1"]}), "several lines"),
        ('{"text": "Anna earns 9000.", "parents": ["1", "2"]}', "a number"),
        ('{"text": "Anna lives with Igor.", "parents": ["1", "2"]}', "a name"),
        ('{"text": "Seit dann wohnt sie in Wien.", "parents": ["2"]}', "a name"),
        ('{"text": "She moved in 2024.", "parents": ["1"]}', "a number"),
    ],
)
def test_what_is_malformed_invented_or_verbose_is_refused(answer: str, why: str) -> None:
    """And it is said why, in one sentence that repeats nothing of it."""
    with pytest.raises(ValueError, match=why):
        checked_conclusion(answer, "anna", TEXTS)
