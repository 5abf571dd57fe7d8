"""Tasks on disk: OpenEvolve's folders run as they are, and what is wrong with one is said in a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from memkit.errors import UsageError
from memkit.evolution.task import TaskSettings, find_task, read_task_settings

OPENEVOLVE = """\
max_iterations: 200
checkpoint_interval: 10
log_level: "INFO"
random_seed: 7
diff_based_evolution: false
max_code_length: 9000
early_stopping_patience: 40
llm:
  primary_model: "gemini-2.5-flash"
  primary_model_weight: 0.8
  secondary_model: "gemini-2.5-pro"
  api_base: "https://example.org/v1"
  api_key: ${OPENAI_API_KEY}
  temperature: 0.4
prompt:
  system_message: |
    You optimise packing.
  num_top_programs: 3
database:
  population_size: 50
  num_islands: 3
  feature_dimensions: ["complexity", "diversity", "speed"]
evaluator:
  timeout: 60
  cascade_evaluation: true
  cascade_thresholds: [0.5, 0.75]
  parallel_evaluations: 3
"""


def folder(at: Path, program: str = "def f(x):\n    return x\n", settings: str | None = None) -> Path:
    """Write a task folder and return it."""
    (at / "initial_program.py").write_text(program, encoding="utf-8")
    (at / "evaluator.py").write_text("def evaluate(path):\n    return {'score': 1}\n", encoding="utf-8")
    if settings is not None:
        (at / "config.yaml").write_text(settings, encoding="utf-8")
    return at


def test_a_folder_in_the_usual_form_is_a_task(tmp_path: Path) -> None:
    """Its settings are read as far as they mean something here; the others are named."""
    task = find_task(folder(tmp_path, settings=OPENEVOLVE))

    assert (task.program.name, task.evaluator.name, task.name) == ("initial_program.py", "evaluator.py", tmp_path.name)
    assert task.seed == "def f(x):\n    return x\n"
    assert task.settings == TaskSettings(
        iterations=200,
        seed=7,
        patience=40,
        timeout=60.0,
        thresholds=(0.5, 0.75),
        instructions="You optimise packing.\n",
        rewrites=True,
        max_length=9000,
        ignored=(
            "prompt.num_top_programs",
            "database",
            "evaluator.parallel_evaluations",
            "models are chosen with --provider (the task was made for gemini-2.5-flash, gemini-2.5-pro)",
        ),
    )


def test_a_program_and_its_evaluator_are_a_task_too(tmp_path: Path) -> None:
    """Without settings; a folder's settings are not somebody else's."""
    where = folder(tmp_path, settings="max_iterations: 3\n")

    task = find_task(where / "initial_program.py", where / "evaluator.py")

    assert task.folder is None and task.name == "initial_program" and task.settings == TaskSettings()
    settings = find_task(where / "initial_program.py", where / "evaluator.py", where / "config.yaml").settings
    assert settings.iterations == 3


@pytest.mark.parametrize(
    ("settings", "ignored"),
    [
        ("", ()),
        ("# nothing\n", ()),
        ("- 1\n", ("config.yaml contains no settings",)),
        ("max_iterations: many\n", ("max_iterations is 'many', not a whole number within the limits",)),
        ("max_iterations: 0\n", ("max_iterations is 0, not a whole number within the limits",)),
        ("evaluator: fast\nnew_key: {a: 1}\n", ("evaluator", "new_key")),
        ("evaluator: {timeout: -1}\n", ("evaluator.timeout is -1, not a number above 0",)),
        ("evaluator: {cascade_thresholds: [a]}\n", ("evaluator.cascade_thresholds is ['a'], not a list of numbers",)),
        (
            "llm: {models: [{name: a, weight: -1}, b, {weight: 2}], api_key: none}\n",
            ("models are chosen with --provider (the task was made for a)",),
        ),
        ("memkit: {modules: numpy}\n", ("memkit.modules is 'numpy', not a list of texts",)),
    ],
)
def test_no_setting_stops_a_task(tmp_path: Path, settings: str, ignored: tuple[str, ...]) -> None:
    """What is unknown or makes no sense is named and left aside."""
    assert find_task(folder(tmp_path, settings=settings)).settings.ignored == ignored


def test_memkits_own_settings_grant(tmp_path: Path) -> None:
    """Modules, a scratch folder, and that a program may answer everything alike."""
    (tmp_path / "config.yaml").write_text("memkit: {modules: [numpy], scratch: work, constant_answers: true}\n")

    settings = read_task_settings(tmp_path / "config.yaml")

    assert (settings.modules, settings.scratch, settings.constant_answers) == (("numpy",), "work", True)


@pytest.mark.parametrize(
    ("program", "modules"),
    [
        ("import math, os.path\n", ()),
        ("import numpy as np\nfrom numpy.linalg import norm\n", ("numpy",)),
        ("def f():\n    from scipy.optimize import minimize\n", ("numpy", "scipy")),
        ("try:\n    import nothing_like_this\nexcept ImportError:\n    pass\n", ()),
        ("import numpy\ndef show():\n    import nothing_like_this.pyplot\n", ("numpy",)),
        ("if __name__ == '__main__':\n    import nothing_like_this\n", ()),
    ],
)
def test_what_the_first_program_imports_its_descendants_may_read(
    tmp_path: Path, program: str, modules: tuple[str, ...]
) -> None:
    """The standard library needs no grant, and scipy cannot be imported without numpy."""
    assert find_task(folder(tmp_path, program)).modules == modules


def test_a_module_beside_the_evaluator_is_not_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs could read how they are judged."""
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(UsageError, match="imports evaluator, which is not installed"):
        find_task(folder(tmp_path, "import evaluator\n"))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("def f(:\n", "initial_program.py: Evolution cannot start here. The program does not parse: line 1"),
        ("# EVOLVE-BLOCK-START\nx = 1\n", "Line 1: EVOLVE-BLOCK-START without EVOLVE-BLOCK-END"),
        ("import nothing_like_this\n", "imports nothing_like_this, which is not installed"),
        ("def f():\n    import absent\nclass A:\n    import absent\n", "imports absent, which is not installed"),
    ],
)
def test_a_first_program_that_cannot_start_is_an_error(tmp_path: Path, program: str, message: str) -> None:
    """Before anything is evaluated."""
    with pytest.raises(UsageError, match=message):
        find_task(folder(tmp_path, program))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """With what would do."""
    with pytest.raises(
        UsageError, match=r"A task folder contains initial_program\.py and evaluator.py: there is no file"
    ):
        find_task(tmp_path)
    (tmp_path / "initial_program.py").write_bytes(b"x = '\xff'\n")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        find_task(tmp_path)
    (tmp_path / "initial_program.py").write_text("x = 1\n")
    with pytest.raises(UsageError, match="The evaluator: there is no file"):
        find_task(tmp_path)
    with pytest.raises(UsageError, match="--evaluator FILE"):
        find_task(tmp_path / "initial_program.py")
