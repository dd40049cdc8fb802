"""JSON documents for property tests: small, so that two of them are often equal."""

from __future__ import annotations

from hypothesis import strategies as st

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e16])
    | st.sampled_from(["", "a", "0", "\xe9"])
)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", "c.d", "\xe9"]), inner, max_size=3)
    ),
    max_leaves=8,
)
