from typing import Any

import numpy as np
import pytest

from memstrata.vectors.checked import checked


def test_vectors_are_brought_to_length_one() -> None:
    vectors = checked([[3.0, 4.0], [0.0, -0.001]], 2)
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.tolist() == pytest.approx(np.array([[0.6, 0.8], [0.0, -1.0]]))
    assert vectors.refused == {}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([0.0, 0.0], "zeros"),
        ([float("nan"), 1.0], "finite"),
        ([float("inf"), 1.0], "finite"),
        ([1e308, 1e308], "finite"),
        ([1.0], "1 numbers instead of 2"),
        ([1.0, 2.0, 3.0], "3 numbers instead of 2"),
        ([[1.0, 2.0]], "instead of"),
        ("1,2", "numbers"),
        (["a", "b"], "numbers"),
        ([None, 1.0], "finite"),
        ([10**400, 1], "numbers"),
        ({"a": 1}, "numbers"),
        (None, "no vector"),
    ],
)
def test_what_is_no_vector_is_refused_alone_and_leaves_a_row_of_zeros(row: Any, reason: str) -> None:
    vectors = checked([[1.0, 0.0], row, [0.0, 1.0]], 2)
    assert list(vectors.refused) == [1]
    assert reason in vectors.refused[1]
    assert vectors.matrix.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]


def test_no_texts_give_a_matrix_without_rows() -> None:
    assert checked([], 384).matrix.shape == (0, 384)
